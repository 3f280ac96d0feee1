// Guesses at tokens where a provider stated none, from sizes alone: four bytes a token (F191).
#ifndef HOTEL_ROUTE_USAGE_ESTIMATE_H_
#define HOTEL_ROUTE_USAGE_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotel::route {

/// Tokens of the text in a JSON document: the bytes of its string values, in quotes and not in
/// front of a colon, by four. A long value without a space is no text but an encoded picture or
/// sound and counts like four KiB. Of a document above 1 MiB the beginning stands for all of it.
/// Accepts any bytes; 0 when the first one opens neither an object nor a list.
std::int64_t EstimateTokens(std::string_view json) noexcept;

/// Guesses the tokens of a stream's output: the text in its frames by four, at least one for each
/// frame that carries output. Only some frames are looked into; the others are taken for as long.
class OutputMeter {
 public:
  /// A frame with output.
  void Add(std::string_view data) noexcept {
    ++frames_;
    if (frames_ > kFirst && frames_ % kEvery != 0) return;
    Look(data);
  }

  std::int64_t Tokens() const noexcept;

 private:
  static constexpr std::uint64_t kFirst = 8;
  static constexpr std::uint64_t kEvery = 16;

  void Look(std::string_view data) noexcept;

  std::uint64_t frames_ = 0;
  std::uint64_t looked_ = 0;
  std::uint64_t bytes_ = 0;  // of text in them
};

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_USAGE_ESTIMATE_H_
