// What a quota reading does to circuits that stand already (facts d: retarget, release, seed).
#ifndef HOTEL_DECIDE_QUOTA_ADVICE_H_
#define HOTEL_DECIDE_QUOTA_ADVICE_H_

#include <cstdint>
#include <string_view>

#include "hotel/quota_advisor.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/decide/circuit.h"

namespace hotel::decide {

inline constexpr std::string_view kCauseRetargeted = "quota pin retargeted (advisor)";
inline constexpr std::string_view kCauseSeeded = "quota pin seeded (advisor)";
inline constexpr std::string_view kCauseRecovered =
    "quota pin released (provider no longer exhausted)";
inline constexpr std::string_view kCausePollingOff = "quota pin released (quota polling disabled)";

/// Lengthens the cooldown of a circuit that refuses to the date of a spent window; true when it
/// did. Closed and half-open circuits, and those that wait longer already, are left alone.
bool Retarget(Circuit& circuit, const QuotaReading& reading, const CircuitBreakerSettings& settings,
              TimePoint now, std::uint64_t* random);

/// Lifts the pin of a circuit if it has one that speaks for the account, or any with `every`; true
/// when it did. State, streak and backoff stay.
bool ReleasePin(Circuit& circuit, bool every, std::string_view cause, TimePoint now);

/// Opens a fresh circuit with the pin of a spent reading; false, and nothing is changed, when the
/// reading pins nothing longer than an ordinary cooldown.
bool Seed(Circuit& circuit, const QuotaReading& reading, const CircuitBreakerSettings& settings,
          TimePoint now, std::uint64_t* random);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_QUOTA_ADVICE_H_
