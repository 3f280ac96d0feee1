// The head of a client's request: strict parsing of untrusted bytes.
//
// Pure: no socket, no clock. Everything that could make two readers disagree about where a request
// ends (two lengths, a length beside a transfer coding, bare line feeds, folded lines, spaces
// before a colon) is refused here, before any other code sees the request.
#ifndef SERVER_REQUEST_HEAD_H_
#define SERVER_REQUEST_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "libhotel/decide/error_codes.h"

namespace hotel::server {

/// Bounds of a request head (decisions, section 10, "Server limits").
struct HeadLimits {
  std::size_t max_bytes = 32 * 1024;
  std::size_t max_fields = 100;
  std::size_t max_target = 8000;
};

struct RequestHead {
  std::string method;  ///< upper-case token
  std::string target;  ///< as sent, starts with '/', visible ASCII
  HeaderList headers;  ///< values hold no control character but tab
  bool http10 = false;
  bool keep_alive = true;            ///< what version and Connection ask for
  bool chunked = false;              ///< the body is in chunked transfer coding
  std::uint64_t content_length = 0;  ///< 0 also when none was given
  bool has_length = false;           ///< a Content-Length was given
  bool expects_continue = false;
  /// Address of the client, without port; set by the connection. Behind a trusted proxy it is what
  /// that one says (ForwardedAddress).
  std::string peer;

  bool has_body() const noexcept { return chunked || content_length > 0; }
  /// The target without query and fragment.
  std::string_view path() const noexcept {
    return std::string_view(target).substr(0, target.find_first_of("?#"));
  }
};

/// Why a request is refused: the status, a stable code and a sentence for the error body.
struct RequestError {
  int status = 400;
  decide::ErrorCode code = decide::ErrorCode::kMalformedRequest;
  const char* message = "";
};

/// Where a head ends in bytes that may still be coming.
struct HeadScan {
  enum class State { kMore, kComplete, kMalformed } state = State::kMore;
  std::size_t size = 0;  ///< bytes of the head with its blank line, when complete
};
/// Looks for the blank line. A line feed without carriage return makes the head malformed.
HeadScan ScanHead(std::string_view bytes) noexcept;

/// The path in the first line of bytes that may be no head at all, "" when there is none: for the
/// form of a refusal.
std::string_view PathOfBrokenHead(std::string_view bytes) noexcept;

/// Reads a complete head (blank line included). Returns the reason when it is refused; `out` is
/// then unspecified.
std::optional<RequestError> ParseRequestHead(std::string_view bytes, const HeadLimits& limits,
                                             RequestHead* out);

}  // namespace hotel::server

#endif  // SERVER_REQUEST_HEAD_H_
