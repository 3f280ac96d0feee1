// Decoding of the chunked transfer coding, byte by untrusted byte.
#ifndef SERVER_CHUNKED_BODY_H_
#define SERVER_CHUNKED_BODY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hotel::server {

/// Takes the wire bytes of one body in any pieces and appends what they carry to a string. Strict:
/// sizes are hexadecimal digits, lines end in CRLF. Extensions and trailers are read and dropped,
/// within bounds. Pure.
class ChunkedBody {
 public:
  enum class State {
    kMore,       ///< wants more bytes
    kDone,       ///< the body ended; bytes after it were not consumed
    kTooLarge,   ///< the body would exceed the limit; nothing more is consumed
    kMalformed,  ///< this is not the chunked coding; nothing more is consumed
  };

  /// `limit`: the largest body accepted.
  explicit ChunkedBody(std::size_t limit) : limit_(limit) {}

  /// Consumes from the front of `wire` and appends to `body`; `consumed` says how much was taken.
  State Feed(std::string_view wire, std::string* body, std::size_t* consumed);

 private:
  enum class Step {
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailer,
    kTrailerLf,
    kEnd
  };
  State Enter(State state);
  State Take(char c);

  std::size_t limit_;
  Step step_ = Step::kSize;
  State state_ = State::kMore;
  std::uint64_t chunk_ = 0;  ///< size being read, then bytes still to come
  int digits_ = 0;
  std::size_t line_ = 0;      ///< bytes in the current extension
  std::size_t trailers_ = 0;  ///< bytes of trailer so far
  bool line_empty_ = true;
};

}  // namespace hotel::server

#endif  // SERVER_CHUNKED_BODY_H_
