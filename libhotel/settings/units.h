// Quantities with a unit, as they are written in configuration values.
#ifndef HOTEL_SETTINGS_UNITS_H_
#define HOTEL_SETTINGS_UNITS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hotel::settings {

/// "1048576", "512KiB", "50MiB", "1GiB" (and kB, MB, GB for powers of 1000). nullopt for anything
/// else.
std::optional<std::uint64_t> ParseByteSize(std::string_view text);

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_UNITS_H_
