// Log lines as `name=value` pairs.
#ifndef HOTEL_OBSERVE_LOGFMT_H_
#define HOTEL_OBSERVE_LOGFMT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hotel::observe {

/// Builds one line: values are quoted when they must be, control characters are escaped, key-shaped
/// words are masked, long values are cut. Whatever goes in, one line comes out.
class LogLine {
 public:
  /// Bytes of one value that are kept.
  static constexpr std::size_t kMaxValue = 2048;

  LogLine& Text(std::string_view name, std::string_view value);
  LogLine& Number(std::string_view name, std::int64_t value);
  LogLine& Flag(std::string_view name, bool value);

  const std::string& text() const noexcept { return text_; }

 private:
  void Name(std::string_view name);
  std::string text_;
};

}  // namespace hotel::observe

#endif  // HOTEL_OBSERVE_LOGFMT_H_
