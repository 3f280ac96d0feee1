// The name under which a model's circuit is kept.
#ifndef HOTEL_GUARD_CIRCUIT_NAME_H_
#define HOTEL_GUARD_CIRCUIT_NAME_H_

#include <string>
#include <string_view>

namespace hotel::guard {

/// `model` itself, as a rule. One that is too long to keep, and one that a caller took from the
/// breaker (kAccountQuotaModel), become their beginning and a hash, made in `storage`. The view
/// lives as long as both arguments. Allocates in the exceptional cases only (R71).
std::string_view CircuitName(std::string_view model, std::string* storage);

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_CIRCUIT_NAME_H_
