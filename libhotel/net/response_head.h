// Puts a response's head together from the lines libcurl hands over, and bounds it.
#ifndef HOTEL_NET_RESPONSE_HEAD_H_
#define HOTEL_NET_RESPONSE_HEAD_H_

#include <cstddef>
#include <string_view>

#include "hotel/types.h"

namespace hotel::net {

/// Swallows 1xx heads and stops at the final one. Not thread-safe.
class ResponseHead {
 public:
  struct Limits {
    std::size_t max_bytes;   ///< of all heads of the exchange together, 1xx included
    std::size_t max_fields;  ///< of one head
  };
  enum class Progress {
    kMore,      ///< feed the next line
    kFinal,     ///< this line ended the final head: status() and TakeHeaders() are valid
    kProtocol,  ///< not HTTP/1, a status outside 100-599, or broken framing fields
    kTooLarge,
  };

  explicit ResponseHead(Limits limits) : limits_(limits) {}

  /// Takes one line with its line end. Not after kFinal or an error.
  Progress Feed(std::string_view line);

  /// True once anything was fed.
  bool started() const noexcept { return bytes_ > 0; }
  int status() const noexcept { return status_; }
  HeaderList TakeHeaders() { return std::move(headers_); }

 private:
  Progress StatusLine(std::string_view line);
  Progress Field(std::string_view line);
  Progress End();

  const Limits limits_;
  std::size_t bytes_ = 0;
  int status_ = 0;  // 0: a status line is due
  HeaderList headers_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_RESPONSE_HEAD_H_
