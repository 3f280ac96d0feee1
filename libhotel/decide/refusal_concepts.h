// What words are about.
#ifndef HOTEL_DECIDE_REFUSAL_CONCEPTS_H_
#define HOTEL_DECIDE_REFUSAL_CONCEPTS_H_

#include <cstdint>

namespace hotel::decide {

/// Sets of concepts.
using Concepts = std::uint64_t;

// clang-format off
inline constexpr Concepts kLack       = 1ULL << 0;   ///< insufficient, depleted, out of, ...
inline constexpr Concepts kHit        = 1ULL << 1;   ///< exceeded, reached, hit, ...
inline constexpr Concepts kMoney      = 1ULL << 2;   ///< balance, credits, funds
inline constexpr Concepts kQuota      = 1ULL << 3;   ///< quota, allowance, allocation
inline constexpr Concepts kLimit      = 1ULL << 4;   ///< limit, cap, threshold
inline constexpr Concepts kSpend      = 1ULL << 5;   ///< spending, billing
inline constexpr Concepts kBudget     = 1ULL << 6;   ///< budget
inline constexpr Concepts kOverdue    = 1ULL << 7;   ///< arrears, payment required
inline constexpr Concepts kPayNow     = 1ULL << 8;   ///< recharge, top up, buy credits
inline constexpr Concepts kSuspended  = 1ULL << 9;   ///< suspended, frozen, not active
inline constexpr Concepts kAccount    = 1ULL << 10;  ///< account, organisation, key, user
inline constexpr Concepts kUsage      = 1ULL << 11;  ///< usage limit, session limit
inline constexpr Concepts kReset      = 1ULL << 12;  ///< resets, refreshed, replenished
inline constexpr Concepts kPlan       = 1ULL << 13;  ///< plan, subscription, package
inline constexpr Concepts kModel      = 1ULL << 14;  ///< this model, a deployment, an endpoint
inline constexpr Concepts kExcluded   = 1ULL << 15;  ///< not included, no access
inline constexpr Concepts kConcurrent = 1ULL << 16;  ///< concurrency, parallel, in flight
inline constexpr Concepts kBusy       = 1ULL << 17;  ///< overloaded, capacity, high demand
inline constexpr Concepts kSoon       = 1ULL << 18;  ///< shortly, in a moment
inline constexpr Concepts kRate       = 1ULL << 19;  ///< rate limit, throttled, too many requests
inline constexpr Concepts kPace       = 1ULL << 20;  ///< frequency, request rate, too fast
inline constexpr Concepts kTooLarge   = 1ULL << 21;  ///< the request itself does not fit
inline constexpr Concepts kFree       = 1ULL << 22;  ///< free trial, free tier
inline constexpr Concepts kExpired    = 1ULL << 23;  ///< expired, ended
inline constexpr Concepts kShort      = 1ULL << 24;  ///< a window of a minute or less
inline constexpr Concepts kLong       = 1ULL << 25;  ///< a window of more than a minute
inline constexpr Concepts kWeek       = 1ULL << 26;  ///< ... of a week or more
inline constexpr Concepts kYour       = 1ULL << 27;  ///< your
inline constexpr Concepts kLater      = 1ULL << 28;  ///< try again later
inline constexpr Concepts kRecovers   = 1ULL << 29;  ///< included, comes with the plan
inline constexpr Concepts kBilling    = 1ULL << 30;  ///< billing details, plan and billing
inline constexpr Concepts kCurrent    = 1ULL << 31;  ///< current quota
inline constexpr Concepts kPackage    = 1ULL << 32;  ///< resource package of one model
inline constexpr Concepts kResource   = 1ULL << 33;  ///< Google's "resource exhausted"
inline constexpr Concepts kAllotted   = 1ULL << 34;  ///< hardware, nodes: not a rate
inline constexpr Concepts kTotal      = 1ULL << 35;  ///< total, lifetime
inline constexpr Concepts kRequests   = 1ULL << 36;  ///< requests, tokens, prediction
inline constexpr Concepts kUpstream   = 1ULL << 37;  ///< somebody else's pool
inline constexpr Concepts kKey        = 1ULL << 38;  ///< API key
inline constexpr Concepts kMore       = 1ULL << 39;  ///< requires more credits
inline constexpr Concepts kOverage    = 1ULL << 40;  ///< use beyond the plan
inline constexpr Concepts kYou        = 1ULL << 41;  ///< you did it
inline constexpr Concepts kUse        = 1ULL << 42;  ///< usage, of anything
// clang-format on

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_CONCEPTS_H_
