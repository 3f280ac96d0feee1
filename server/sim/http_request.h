// Requests off a connection's bytes: HTTP/1.x heads, bodies by length or in chunks.
#ifndef HOTEL_SERVER_SIM_HTTP_REQUEST_H_
#define HOTEL_SERVER_SIM_HTTP_REQUEST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotel::sim {

struct HttpRequest {
  std::string method;
  std::string path;                                          ///< without the query
  std::string query;                                         ///< behind the question mark
  std::vector<std::pair<std::string, std::string>> headers;  ///< in order, names as sent
  std::string body;
  bool keep_alive = true;

  /// The first header of that name, compared without case; empty when there is none.
  std::string_view header(std::string_view name) const;
};

/// Takes requests off a buffer, one at a time. Bounded: heads of 64 KiB, bodies of 64 MiB.
class RequestReader {
 public:
  enum class Result {
    kMore,      ///< the request is not complete yet
    kContinue,  ///< the client waits for `100 Continue`; then as kMore
    kReady,     ///< `request()` holds one; the next Read starts a new one
    kBad,       ///< not HTTP, or framed in a way that is refused
    kTooLarge,
  };

  /// Consumes from the front of `in` what belongs to the request.
  Result Read(std::string* in);

  HttpRequest& request() { return request_; }

 private:
  enum class State { kHead, kLength, kChunkSize, kChunkData, kTrailer };

  Result ReadHead(std::string* in);
  bool ParseHead(std::string_view head);
  Result ReadBody(std::string* in);
  Result ReadChunked(std::string* in);
  Result Ready();

  State state_ = State::kHead;
  HttpRequest request_;
  std::size_t scanned_ = 0;  ///< of the head: bytes known to hold no end of head
  std::size_t left_ = 0;     ///< bytes of the body or chunk still to come
  bool expect_continue_ = false;
};

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_HTTP_REQUEST_H_
