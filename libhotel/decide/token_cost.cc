#include "libhotel/decide/token_cost.h"

#include <algorithm>
#include <cmath>

namespace hotel::decide {

std::optional<std::int64_t> CostOf(const TokenUsage& usage, const ModelPrices& prices) noexcept {
  if (!prices.input && !prices.output) return std::nullopt;
  // A dollar a million tokens is a thousand billionths of a dollar a token.
  constexpr double kPerToken = 1000;
  // More than that is no count of tokens, and would not fit.
  constexpr std::int64_t kMostTokens = 1'000'000'000'000;
  const auto prompt = std::clamp<std::int64_t>(usage.prompt, 0, kMostTokens);
  const auto cached = std::clamp<std::int64_t>(usage.cached, 0, prompt);
  const auto completion = std::clamp<std::int64_t>(usage.completion, 0, kMostTokens);
  const double input = prices.input.value_or(0);
  const double sum = static_cast<double>(prompt - cached) * input +
                     static_cast<double>(cached) * prices.cached_input.value_or(input) +
                     static_cast<double>(completion) * prices.output.value_or(0);
  return std::llround(sum * kPerToken);
}

}  // namespace hotel::decide
