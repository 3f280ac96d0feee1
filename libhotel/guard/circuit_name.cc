#include "libhotel/guard/circuit_name.h"

#include <cstddef>
#include <cstdint>

#include "hotel/circuit_breaker.h"

#include "fmt/format.h"

namespace hotel::guard {
namespace {

constexpr std::size_t kLongest = 256;
constexpr std::size_t kKept = 128;

std::uint64_t Fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

/// At most `size` bytes that do not end within a UTF-8 sequence.
std::string_view Beginning(std::string_view text, std::size_t size) noexcept {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

std::string_view CircuitName(std::string_view model, std::string* storage) {
  if (model.size() <= kLongest && model != kAccountQuotaModel) return model;
  *storage = fmt::format("{}#{:016x}", Beginning(model, kKept), Fnv1a(model));
  return *storage;
}

}  // namespace hotel::guard
