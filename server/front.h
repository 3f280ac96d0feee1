// The sidecar's door: client connections in, requests out, answers back.
//
// Sockets live on the event loop that also carries the upstream side, so the loop that receives a
// chunk writes it and no thread waits for anybody. The rest of the server sees this header and no
// HTTP library.
#ifndef SERVER_FRONT_H_
#define SERVER_FRONT_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/statusor.h"
#include "libhotel/net/event_loop.h"
#include "server/client_address.h"
#include "server/request_head.h"

namespace hotel::server {

/// A whole answer that is known at once.
struct Reply {
  int status = 200;
  HeaderList headers;
  std::string body;
};

/// A complete request.
struct Request {
  std::string method;
  std::string path;  ///< as sent, without the query
  HeaderList headers;
  /// Never null. Counts against FrontOptions::max_buffered_bytes as long as somebody holds it.
  std::shared_ptr<const std::string> body;
  std::string target;  ///< as sent: the path, and the query with its question mark
  std::string peer{};  ///< see RequestHead
};

/// Where the answer to one proxied request goes. Loop thread only; calls return at once, nothing
/// here waits for the client. Begin once, then Write any number of times, then End or Abort once.
/// Whatever is called after the client has gone is ignored.
class Responder {
 public:
  virtual ~Responder() = default;

  /// `streaming`: the body goes out piece by piece as it is written, what was written in one turn
  /// of the loop in one piece. Otherwise it is collected and leaves with its length at End. Framing
  /// fields among `headers` are dropped, but for the length in the answer to a HEAD.
  virtual void Begin(int status, const HeaderList& headers, bool streaming) = 0;
  /// Takes the bytes in any case. kPause: enough is waiting for a slow client; `on_room` follows.
  virtual Flow Write(std::string_view bytes) = 0;
  /// The whole body of an answer that is not streaming, given away.
  virtual void WriteWhole(std::string bytes) = 0;
  virtual void End() = 0;
  /// As End, for an answer that is not whole and cannot say so itself: what was written is sent,
  /// then the connection ends in the middle of the body.
  virtual void Abort() = 0;

  /// Registers what to do when a paused writer may go on, and when the client has gone (at most
  /// once). Both are called on the loop thread, until End, and dropped afterwards.
  virtual void Watch(std::function<void()> on_room, std::function<void()> on_gone) = 0;
};

/// What is to become of a request whose head has been read.
struct Admission {
  std::optional<Reply> refusal;  ///< set: the answer, without the body being read
  bool proxied = false;          ///< OnRequest on the loop; otherwise OnPlain on a worker
  bool needs_body = false;       ///< a request that does not say how long it is gets 411
};

/// What the server does with requests. Must not throw.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// Sees every well-formed head before its body is read. Loop thread; must be quick.
  virtual Admission OnHead(const RequestHead& head, std::string_view path) = 0;
  /// Answers a proxied request through `responder`, now or later. Loop thread; must be quick.
  virtual void OnRequest(Request request, std::shared_ptr<Responder> responder) = 0;
  /// The complete bytes of the answer to any other request. Worker threads, several at once.
  virtual std::string OnPlain(const Request& request, bool keep_alive) = 0;
  /// The answer to a request that the front itself refuses. `path` is "" when it was not read that
  /// far. Loop thread.
  virtual Reply OnError(const RequestError& error, std::string_view path) = 0;
};

struct FrontOptions {
  std::string host = "127.0.0.1";
  int port = 0;  ///< 0 = any free one
  std::size_t max_body_bytes = std::size_t{50} << 20;
  /// The same for requests that are not proxied: some of them need no key.
  std::size_t max_plain_body_bytes = std::size_t{64} << 10;
  /// All bodies that are being read or held, together; a further one is answered 503 unread. A body
  /// counts with the length it announces, a chunked one with what came so far.
  std::size_t max_buffered_bytes = std::size_t{1} << 30;
  HeadLimits head;
  TrustedProxies trusted_proxies{};
  Duration head_timeout = std::chrono::seconds(10);
  Duration body_stall_timeout = std::chrono::seconds(30);   ///< without progress
  Duration body_timeout = std::chrono::minutes(5);          ///< in all
  Duration write_stall_timeout = std::chrono::seconds(60);  ///< client takes no byte
  Duration keep_alive_timeout = std::chrono::seconds(75);
  int max_requests_per_connection = 100000;
  /// Connections served at the same time; further ones are answered 503 and closed,
  std::size_t max_connections = 10000;
  /// as many at the same time as this; what comes on top is closed without a word.
  std::size_t max_turned_away = 256;
  /// Proxied requests at the same time; further ones are answered 503. Below max_connections, so
  /// that health checks get through.
  std::size_t max_proxied = 8000;
  /// Threads that answer requests which are not proxied.
  std::size_t workers = 2;
  /// Bytes of one answer that may wait for a slow client before its source is paused.
  std::size_t answer_buffer = std::size_t{64} << 10;
};

/// A listening socket and everything behind it. Methods are for a thread that is not the loop's;
/// the loop must be running.
class Front {
 public:
  virtual ~Front() = default;  ///< stops

  /// Where it listens, for URLs: "127.0.0.1:8081", "[::1]:8081".
  virtual std::string address() const = 0;

  /// Starts to accept. `handler` must outlive the front's Stop.
  virtual void Serve(RequestHandler* handler) = 0;

  /// Connections are accepted and served as before, but every answer that begins from here on says
  /// that its connection ends: clients come back by new ones, which a load balancer that has heard
  /// of the stop sends elsewhere. Idempotent.
  virtual void StopKeeping() = 0;

  /// No connection is accepted and none kept for another request from here on. Whatever the system
  /// has received by then is still served: connections that wait to be accepted and requests that
  /// were not read yet. The port is free again when it returns. Idempotent.
  virtual void StopAccepting() = 0;

  /// Waits until no connection is open; false when `timeout` passed first.
  virtual bool WaitIdle(Duration timeout) = 0;

  /// Cuts what is left and joins the workers. Idempotent.
  virtual void Stop() = 0;
};

/// Binds and listens. The error says what is wrong with the address ("address already in use").
/// `loop` must outlive the front.
absl::StatusOr<std::unique_ptr<Front>> OpenFront(const FrontOptions& options, net::EventLoop* loop);

}  // namespace hotel::server

#endif  // SERVER_FRONT_H_
