#include <utility>

#include "hotel/circuit_breaker.h"

namespace hotel {

Permit::Permit(CircuitBreaker* breaker, CircuitKey key, std::uint64_t generation, bool enforced,
               bool probe, std::uint64_t slot, bool whole_provider)
    : breaker_(breaker),
      key_(std::move(key)),
      generation_(generation),
      slot_(slot),
      enforced_(enforced),
      probe_(probe),
      whole_provider_(whole_provider) {}

Permit::Permit(Permit&& other) noexcept
    : breaker_(std::exchange(other.breaker_, nullptr)),
      key_(std::move(other.key_)),
      generation_(other.generation_),
      slot_(other.slot_),
      enforced_(other.enforced_),
      probe_(other.probe_),
      whole_provider_(other.whole_provider_) {}

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  if (valid()) Report(CircuitReport{}, TimePoint{});
  breaker_ = std::exchange(other.breaker_, nullptr);
  key_ = std::move(other.key_);
  generation_ = other.generation_;
  slot_ = other.slot_;
  enforced_ = other.enforced_;
  probe_ = other.probe_;
  whole_provider_ = other.whole_provider_;
  return *this;
}

// An abandoned report has no instant: it changes nothing.
Permit::~Permit() {
  if (valid()) Report(CircuitReport{}, TimePoint{});
}

BreakerEffect Permit::Report(const CircuitReport& report, TimePoint now) {
  CircuitBreaker* breaker = std::exchange(breaker_, nullptr);
  return breaker->Settle(*this, report, now);
}

}  // namespace hotel
