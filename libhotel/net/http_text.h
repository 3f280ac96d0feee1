// The character classes of HTTP field names and values (RFC 9110, 5.1 and 5.5).
#ifndef HOTEL_NET_HTTP_TEXT_H_
#define HOTEL_NET_HTTP_TEXT_H_

#include <algorithm>
#include <string_view>

#include "libhotel/base/strings.h"

namespace hotel::net {

/// A non-empty `token`: what a method or a field name may be made of.
inline bool IsToken(std::string_view text) noexcept {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return base::IsAsciiAlnum(c) || kMarks.find(c) != std::string_view::npos;
  });
}

/// No control character but the tab.
inline bool IsFieldValue(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

}  // namespace hotel::net

#endif  // HOTEL_NET_HTTP_TEXT_H_
