// One client connection on the event loop: bytes in, requests out, answers back.
//
// No thread waits for a client. The connection is a small state machine that is moved by socket
// events and one lazy timer; its memory is bounded by the options of the front.
#ifndef SERVER_CLIENT_H_
#define SERVER_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "hotel/types.h"

#include "libhotel/net/event_loop.h"
#include "server/body_budget.h"
#include "server/chunked_body.h"
#include "server/front.h"
#include "server/request_head.h"
#include "server/socket.h"

namespace hotel::server {

class Client;

/// What a connection needs of the front it belongs to. Loop thread only.
class ClientHost {
 public:
  virtual net::EventLoop& loop() = 0;
  virtual const FrontOptions& options() const = 0;
  virtual RequestHandler& handler() = 0;
  /// False once answers shall say that their connection ends.
  virtual bool keeping() const = 0;
  /// True once no connection shall be kept for another request, whatever its answer said.
  virtual bool draining() const = 0;
  /// Answers a request that is not proxied on a worker; `client` gets the bytes by SendPlain.
  virtual void RunPlain(Request request, bool keep_alive, std::shared_ptr<Client> client) = 0;
  /// Calls client->Flush() at the end of this turn, once however often it is asked.
  virtual void FlushLater(std::shared_ptr<Client> client) = 0;
  /// Room for one read of any connection.
  virtual std::string& scratch() = 0;
  virtual BodyBudget& bodies() = 0;
  /// Counts one more request at the providers; false when there may be no more.
  virtual bool BeginProxied() = 0;
  virtual void EndProxied() = 0;
  /// The connection is closed; the host drops it.
  virtual void Closed(Client& client) = 0;

 protected:
  ~ClientHost() = default;
};

/// Loop thread only, apart from construction.
/// Reading is in client_read.cc, answering in client_answer.cc, the rest in client.cc.
class Client final : public std::enable_shared_from_this<Client> {
 public:
  /// `peer`: address of the other end, without port.
  Client(ClientHost* host, Fd fd, std::string peer, std::uint64_t id)
      : host_(host),
        fd_(std::move(fd)),
        peer_(std::move(peer)),
        behind_proxy_(IsTrustedProxy(peer_, host->options().trusted_proxies)),
        id_(id) {}

  std::uint64_t id() const noexcept { return id_; }
  bool closed() const noexcept { return state_ == State::kClosed; }

  /// Begins to read. False when the system refused to watch the socket.
  bool Start();
  /// Takes what has arrived, if anything has. Between requests and inside one.
  void Read();
  /// Answers 503 to whatever is sent: there are too many connections.
  void TurnAway();
  /// No further request on this connection: closes it at once when none has begun.
  void Drain();
  /// Closes it now, whatever it is doing.
  void Cut();

  // The answer to the running request. Calls that name an older request are ignored.
  void Begin(std::uint64_t request, int status, const HeaderList& headers, bool streaming);
  Flow Write(std::uint64_t request, std::string_view bytes);
  void WriteWhole(std::uint64_t request, std::string bytes);
  void End(std::uint64_t request);
  void Abort(std::uint64_t request);
  void SendPlain(std::string bytes, bool keep_alive);
  void Watch(std::uint64_t request, std::function<void()> on_room, std::function<void()> on_gone);

  /// Sends what waits.
  void Flush();

 private:
  enum class State {
    kHead,    ///< waiting for a head, or inside one
    kBody,    ///< reading the body of an admitted request
    kAnswer,  ///< a request is being answered
    kLinger,  ///< the answer is out, the rest of what the client sends is dropped
    kClosed,
  };

  using Events = net::EventLoop::Events;
  static const Events kListen;  ///< what is waited for while nothing is answered
  static constexpr Duration kLingerSilence = std::chrono::seconds(2);
  static constexpr Duration kLingerTime = std::chrono::seconds(10);

  void OnEvents(Events events);
  void Process();
  /// Each returns false when it needs more bytes or has changed hands.
  bool ProcessHead();
  bool ProcessBody();
  /// Takes part of the budget for the body; refuses the request when there is none left.
  bool MakeRoom(std::size_t bytes);
  void DropBody();
  void Dispatch();
  std::shared_ptr<Responder> MakeResponder();
  /// Begins the answer to a further request: nothing of it has been said.
  void NewAnswer();
  void Refuse(const RequestError& error);
  void Send(const Reply& reply);
  void AnswerDone();
  void ReleaseProxied();
  void Close();

  void SetDeadline(std::optional<TimePoint> at);
  void ArmTimer();
  void OnTimer();
  void SetInterest(Events events);
  void MarkDirty();
  /// One call to the system; as send(2).
  ssize_t SendSome();
  std::size_t unsent() const noexcept { return out_.size() - out_at_ + tail_.size() - tail_at_; }
  bool NextHeadBegun() const noexcept { return !in_.empty(); }

  ClientHost* const host_;
  Fd fd_;
  const std::string peer_;
  const bool behind_proxy_;  // the peer is one that is believed
  const std::uint64_t id_;
  State state_ = State::kHead;
  Events interest_ = 0;

  std::string in_;           // bytes received and not consumed
  bool head_begun_ = false;  // a byte of the next head has come, be it of an empty line
  RequestHead head_;
  bool proxied_ = false;
  bool counted_ = false;  // by BeginProxied
  std::string body_;
  BodyBudget::Part body_part_;
  std::optional<ChunkedBody> chunked_;
  int served_ = 0;

  std::uint64_t request_ = 0;  // number of the running request
  bool begun_ = false;
  bool ended_ = false;
  bool streaming_ = false;
  bool chunk_framing_ = false;
  bool bodiless_ = false;  // whatever is written, the answer has no body
  bool cut_ = false;       // the connection ends so that the answer is seen to be cut
  bool keep_ = false;
  bool linger_ = false;
  bool paused_ = false;
  bool dirty_ = false;
  std::string whole_head_;  // head of an answer whose length is not known yet
  std::string whole_body_;
  // What is to be sent, in this order. The tail is the body of a whole answer: as it came, because
  // a copy of it would be the largest thing this connection holds.
  std::string out_;
  std::size_t out_at_ = 0;
  std::string tail_;
  std::size_t tail_at_ = 0;
  std::function<void()> on_room_;
  std::function<void()> on_gone_;

  std::optional<TimePoint> deadline_;
  std::optional<TimePoint> body_limit_;  // body_timeout in all; end of lingering
  Loop::TimerId timer_ = 0;
  TimePoint timer_at_{};
};

}  // namespace hotel::server

#endif  // SERVER_CLIENT_H_
