// The sidecar's door: client connections in, requests out, answers back.
//
// The rest of the server sees this header and no HTTP library, so that the way connections are
// driven can change without touching a route.
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
  std::string path;  ///< percent-decoded, without the query
  HeaderList headers;
  std::string body;
};

/// Where the answer to one request goes. Thread-safe; calls return at once, nothing here waits for
/// the client. Begin once, then Write any number of times, then End once. Whatever is called after
/// the client has gone is ignored.
class Responder {
 public:
  virtual ~Responder() = default;

  /// `streaming`: the body goes out piece by piece as it is written. Otherwise it is collected and
  /// leaves in one piece, with its length, at End.
  virtual void Begin(int status, HeaderList headers, bool streaming) = 0;
  /// Takes the bytes in any case. kPause: enough is waiting for a slow client; `on_room` follows.
  virtual Flow Write(std::string_view bytes) = 0;
  virtual void End() = 0;

  /// Registers what to do when a paused writer may go on and when the client has gone (at most
  /// once). Both are called without any lock held, until End, and dropped afterwards. To be called
  /// before RequestHandler::OnRequest returns.
  virtual void Watch(std::function<void()> on_room, std::function<void()> on_gone) = 0;
};

/// What the server does with requests. Called from many threads at once; must not throw.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// Sees every well-formed head before its body is read. A reply refuses the request.
  virtual std::optional<Reply> OnHead(const RequestHead& head, std::string_view path) = 0;
  /// Answers an admitted request through `responder`, now or later, from any thread.
  virtual void OnRequest(Request request, std::shared_ptr<Responder> responder) = 0;
  /// The answer to a request that the front itself refuses.
  virtual Reply OnError(const RequestError& error) = 0;
};

struct FrontOptions {
  std::string host = "127.0.0.1";
  int port = 0;  ///< 0 = any free one
  std::size_t max_body_bytes = std::size_t{50} << 20;
  HeadLimits head;
  Duration head_timeout = std::chrono::seconds(10);
  Duration body_stall_timeout = std::chrono::seconds(30);  ///< without progress
  Duration body_timeout = std::chrono::minutes(5);         ///< in all
  Duration write_stall_timeout = std::chrono::minutes(2);  ///< client takes no byte
  Duration keep_alive_timeout = std::chrono::seconds(30);
  int max_requests_per_connection = 1000;
  /// Requests answered at the same time; each has a thread of its own.
  std::size_t max_workers = 2048;
  /// Connections that may wait for one of them; more are answered 503.
  std::size_t max_waiting = 1024;
  /// Bytes of one answer that may wait for a slow client before its source is paused.
  std::size_t answer_buffer = 256 * 1024;
};

/// A listening socket and everything behind it.
class Front {
 public:
  virtual ~Front() = default;  ///< stops

  /// Where it listens, for URLs: "127.0.0.1:8081", "[::1]:8081".
  virtual std::string address() const = 0;

  /// Starts to accept. `handler` must outlive the front's Stop.
  virtual void Serve(RequestHandler* handler) = 0;

  /// No connection is accepted and no kept-alive one reused from here on; requests that have begun
  /// go on. Idempotent.
  virtual void StopAccepting() = 0;

  /// Waits until no connection is open; false when `timeout` passed first.
  virtual bool WaitIdle(Duration timeout) = 0;

  /// Cuts what is left and joins every thread. Idempotent.
  virtual void Stop() = 0;
};

/// Binds and listens. The error says what is wrong with the address ("address already in use").
absl::StatusOr<std::unique_ptr<Front>> OpenFront(const FrontOptions& options);

}  // namespace hotel::server

#endif  // SERVER_FRONT_H_
