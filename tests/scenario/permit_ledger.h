// A breaker that counts: hands every question on and knows which permits are out.
#ifndef HOTEL_TESTS_SCENARIO_PERMIT_LEDGER_H_
#define HOTEL_TESTS_SCENARIO_PERMIT_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/circuit_breaker.h"

namespace hotel::scenario {

/// Permits it gives carry a serial number as their generation and stand for one of the real
/// breaker.
class PermitLedger : public CircuitBreaker {
 public:
  explicit PermitLedger(CircuitBreaker* real) : real_(real) {}

  std::size_t outstanding() const { return out_.size(); }
  std::size_t issued() const { return static_cast<std::size_t>(next_ - 1); }

  std::optional<Block> Blocked(const CircuitKey& key, TimePoint now) const noexcept override {
    return real_->Blocked(key, now);
  }

  bool RecentSuccess(const CircuitKey& key, Duration window,
                     TimePoint now) const noexcept override {
    return real_->RecentSuccess(key, window, now);
  }

  Admission TryAcquire(CircuitKey key, TimePoint now) override {
    Admission admission = real_->TryAcquire(std::move(key), now);
    if (admission.admitted()) admission.permit = Wrap(std::move(admission.permit));
    return admission;
  }

  Permit AcquireDirect(CircuitKey key, TimePoint now) override {
    return Wrap(real_->AcquireDirect(std::move(key), now));
  }

  std::vector<CircuitView> Views(TimePoint now) const override { return real_->Views(now); }

  std::vector<ProviderView> Providers(TimePoint now) const override {
    return real_->Providers(now);
  }

  ResetResult Reset(std::string_view provider_id, std::optional<std::string_view> model,
                    TimePoint now) override {
    return real_->Reset(provider_id, model, now);
  }

  ResetResult ResetAll(TimePoint now) override { return real_->ResetAll(now); }

  QuotaAdviceResult ApplyQuotaAdvice(const std::vector<QuotaAdvice>& advice,
                                     TimePoint now) override {
    return real_->ApplyQuotaAdvice(advice, now);
  }

  int ReleasePins(TimePoint now) override { return real_->ReleasePins(now); }

 protected:
  BreakerEffect Settle(const Permit& permit, const CircuitReport& report, TimePoint now) override {
    auto real = out_.extract(permit.generation());
    return real.mapped().Report(report, now);
  }

 private:
  Permit Wrap(Permit real) {
    const std::uint64_t serial = next_++;
    Permit wrapped(this, real.key(), serial, real.enforced(), real.probe());
    out_.emplace(serial, std::move(real));
    return wrapped;
  }

  CircuitBreaker* real_;
  std::map<std::uint64_t, Permit> out_;
  std::uint64_t next_ = 1;
};

}  // namespace hotel::scenario

#endif  // HOTEL_TESTS_SCENARIO_PERMIT_LEDGER_H_
