// Identifiers and seeds from the system's random source.
#ifndef HOTEL_BASE_IDS_H_
#define HOTEL_BASE_IDS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hotel::base {

/// A random UUID (version 4), lower-case with hyphens. Thread-safe.
std::string NewUuid();

/// True for the 8-4-4-4-12 form in either case, of any version.
bool IsUuid(std::string_view text) noexcept;

/// 16 lower-case hex digits: names one request in headers and logs. Thread-safe.
std::string NewRequestId();

/// A seed for base/random.h. Thread-safe.
std::uint64_t RandomSeed();

}  // namespace hotel::base

#endif  // HOTEL_BASE_IDS_H_
