#include "libhotel/decide/cost_guess.h"

#include <algorithm>

#include "libhotel/decide/token_cost.h"

namespace hotel::decide {
namespace {

/// Nobody is given more answers to one request than that.
constexpr std::int64_t kMostChoices = 1000;

}  // namespace

std::int64_t GuessCost(const CostGuess& guess, const Model& model) noexcept {
  std::int64_t output = guess.max_output;
  if (output <= 0) output = guess.writes ? kUnstatedOutput : 0;
  if (model.max_output_tokens > 0) output = std::min(output, model.max_output_tokens);
  TokenUsage usage;
  usage.prompt = guess.prompt;
  usage.completion = output * std::clamp<std::int64_t>(guess.choices, 1, kMostChoices);
  return CostOf(usage, model.prices).value_or(0);
}

}  // namespace hotel::decide
