// What tokens cost.
#ifndef HOTEL_DECIDE_TOKEN_COST_H_
#define HOTEL_DECIDE_TOKEN_COST_H_

#include <cstdint>
#include <optional>

#include "hotel/failover_group.h"
#include "hotel/request_log.h"

namespace hotel::decide {

/// The price of `usage` in billionths of a dollar, rounded to the nearest. Tokens from the cache
/// cost what the model asks for them, or as much as others where that is not known. An unknown
/// price of input or output alone counts as nothing; nullopt when both are unknown.
std::optional<std::int64_t> CostOf(const TokenUsage& usage, const ModelPrices& prices) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_TOKEN_COST_H_
