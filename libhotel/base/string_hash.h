// Hash and equality that take std::string_view, so that a map with std::string keys is searched
// without making a string: absl::flat_hash_map<std::string, T, StringHash, StringEqual>.
#ifndef HOTEL_BASE_STRING_HASH_H_
#define HOTEL_BASE_STRING_HASH_H_

#include <cstddef>
#include <functional>
#include <string_view>

namespace hotel::base {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

struct StringEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const noexcept { return a == b; }
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_STRING_HASH_H_
