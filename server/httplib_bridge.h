// Plain routes (everything that is not proxied) behind cpp-httplib, without a socket: it routes a
// request that has been read and formats the answer.
//
// The only file that touches cpp-httplib is the one behind this header. httplib never sees a
// client's header fields or body framing: it is handed a head made of method and path alone,
// because the packaged releases apply ranges and compression on the client's word, believe
// client-sent REMOTE_ADDR and decode header values.
#ifndef SERVER_HTTPLIB_BRIDGE_H_
#define SERVER_HTTPLIB_BRIDGE_H_

#include <functional>
#include <memory>
#include <string>

#include "server/front.h"

namespace hotel::server {

class HttplibBridge {
 public:
  /// Makes a reply from a request. Runs on whatever thread calls Answer.
  using Handler = std::function<Reply(const Request&)>;

  /// `fallback` answers what no route matches.
  explicit HttplibBridge(Handler fallback);
  ~HttplibBridge();

  /// Registers a route, before the first Answer. `pattern` is a regular expression for the whole
  /// path.
  void Get(const std::string& pattern, Handler handler);

  /// The complete answer, head and body, as it goes to the client. Thread-safe.
  std::string Answer(const Request& request, bool keep_alive);

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace hotel::server

#endif  // SERVER_HTTPLIB_BRIDGE_H_
