// What every fuzz target needs: an assertion that is never compiled out.
#ifndef HOTEL_TESTS_FUZZ_REQUIRE_H_
#define HOTEL_TESTS_FUZZ_REQUIRE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hotel::fuzz {

/// Ends the process with a message when an invariant does not hold.
inline void Require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "invariant broken: %s\n", invariant);
  std::abort();
}

inline std::string_view AsText(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace hotel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#endif  // HOTEL_TESTS_FUZZ_REQUIRE_H_
