// A small deterministic generator for decisions: a plan carries its seed, so a run replays exactly.
// Not for secrets or ids.
#ifndef HOTEL_BASE_RANDOM_H_
#define HOTEL_BASE_RANDOM_H_

#include <cstdint>

namespace hotel::base {

/// One splitmix64 step: advances `state`, returns 64 well mixed bits.
constexpr std::uint64_t NextRandom(std::uint64_t* state) noexcept {
  *state += 0x9E3779B97F4A7C15u;
  std::uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Uniform in [0, n); 0 when n is 0 (and then `state` stays). Unbiased: draws below the remainder
/// of 2^64 / n are thrown away.
constexpr std::uint64_t RandomBelow(std::uint64_t* state, std::uint64_t n) noexcept {
  if (n == 0) return 0;
  const std::uint64_t threshold = (0 - n) % n;
  for (;;) {
    const std::uint64_t draw = NextRandom(state);
    if (draw >= threshold) return draw % n;
  }
}

}  // namespace hotel::base

#endif  // HOTEL_BASE_RANDOM_H_
