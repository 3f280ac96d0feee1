// What a request may cost, guessed before it runs.
#ifndef HOTEL_DECIDE_COST_GUESS_H_
#define HOTEL_DECIDE_COST_GUESS_H_

#include <cstdint>

#include "hotel/failover_group.h"

namespace hotel::decide {

/// How long an answer is taken to get whose length nobody limits.
inline constexpr std::int64_t kUnstatedOutput = 4096;

/// What a request says of its size.
struct CostGuess {
  std::int64_t prompt = 0;      ///< tokens
  bool writes = true;           ///< the answer is text, so there is some also when nothing is said
  std::int64_t max_output = 0;  ///< tokens of an answer, 0 = not said
  std::int64_t choices = 1;     ///< answers
};

/// What it may cost at the prices of `model`, in billionths of a dollar; 0 when none is known. An
/// answer gets as long as it may, or kUnstatedOutput, and no longer than the model can write.
std::int64_t GuessCost(const CostGuess& guess, const Model& model) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_COST_GUESS_H_
