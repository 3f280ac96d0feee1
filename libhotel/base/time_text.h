// Civil time as text: RFC 3339, UTC, milliseconds ("2026-09-01T10:00:00.000Z").
#ifndef HOTEL_BASE_TIME_TEXT_H_
#define HOTEL_BASE_TIME_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

namespace hotel::base {

/// Always in UTC with three fraction digits. Years outside 0-9999 are clamped to that range.
std::string FormatTime(WallTime time);

/// Reads any RFC 3339 date-time: fraction of any length (cut to milliseconds), `Z` or an offset,
/// 'T' or space. A leap second becomes the second after it. nullopt for anything else.
std::optional<WallTime> ParseTime(std::string_view text);

}  // namespace hotel::base

#endif  // HOTEL_BASE_TIME_TEXT_H_
