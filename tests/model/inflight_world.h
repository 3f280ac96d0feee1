// A limiter under random use, watched from outside.
#ifndef HOTEL_TESTS_MODEL_INFLIGHT_WORLD_H_
#define HOTEL_TESTS_MODEL_INFLIGHT_WORLD_H_

#include <cstdint>
#include <string>

namespace hotel::model {

/// What the tapes reached, so that a generator that stopped reaching it is noticed.
struct InflightCoverage {
  std::uint64_t tapes = 0;
  std::uint64_t admitted = 0;
  std::uint64_t busy = 0;
  std::uint64_t cuts = 0;
  std::uint64_t growths = 0;
  std::uint64_t forgotten = 0;
  std::uint64_t served_at_once = 0;
  std::uint64_t served_later = 0;
  std::uint64_t passed_on = 0;  ///< slots handed over, not wanted, and given to the next
  std::uint64_t most_waiting = 0;
};

/// Plays one tape. Returns what broke, "" when nothing did.
std::string PlayInflightTape(std::uint64_t seed, InflightCoverage* coverage);

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_INFLIGHT_WORLD_H_
