// What tapes are made of.
#ifndef HOTEL_TESTS_MODEL_RANDOM_INPUTS_H_
#define HOTEL_TESTS_MODEL_RANDOM_INPUTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "hotel/settings.h"

#include "libhotel/base/random.h"
#include "libhotel/decide/attempt_machine.h"

namespace hotel::model {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  int Below(int n) {
    return static_cast<int>(base::RandomBelow(&state_, static_cast<std::uint64_t>(n)));
  }
  bool OneIn(int n) { return Below(n) == 0; }
  template <typename T, std::size_t N>
  T Pick(const std::array<T, N>& values) {
    return values[static_cast<std::size_t>(Below(static_cast<int>(N)))];
  }
  std::uint64_t Bits() { return base::NextRandom(&state_); }

 private:
  std::uint64_t state_;
};

/// Every option that the attempt machine reads: those of a profile, or short spans so that a few
/// dozen events reach every corner. The spans are of the order of `unit`.
EngineSettings RandomSettings(Dice& dice, Duration* unit);

/// Any end, sensible or not.
decide::AttemptEnd RandomEnd(Dice& dice, Duration unit);

/// Changes with everything in an action that a replay must meet again.
std::uint64_t Fingerprint(std::uint64_t seed, const decide::Action& action);

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_RANDOM_INPUTS_H_
