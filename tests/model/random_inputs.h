// What tapes are made of.
#ifndef HOTEL_TESTS_MODEL_RANDOM_INPUTS_H_
#define HOTEL_TESTS_MODEL_RANDOM_INPUTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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

/// Short spans and low thresholds, so that a few dozen events reach every corner.
std::shared_ptr<const Settings> RandomSettings(Dice& dice);

/// Any end, sensible or not.
decide::AttemptEnd RandomEnd(Dice& dice);

/// The part of an action that a replay must meet again.
std::string Print(const decide::Action& action);

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_RANDOM_INPUTS_H_
