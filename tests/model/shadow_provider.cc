#include "tests/model/shadow_provider.h"

#include <algorithm>
#include <chrono>

namespace hotel::model {
namespace {

constexpr Duration kDay = std::chrono::hours(24);
const std::string kSeed(kAccountQuotaModel);

}  // namespace

std::optional<Block> ShadowProvider::Blocked(const std::string& model, TimePoint now) const {
  if (!on()) return std::nullopt;
  const auto own = circuits_.find(Name(model));
  if (own != circuits_.end() && Refuses(own->second, now)) {
    return Block{End(own->second), Pinned(own->second), whole(), Refusal::kCircuitOpen};
  }
  int refusing = 0;
  bool account = false;
  bool all_pinned = true;
  TimePoint first = TimePoint::max();
  for (const auto& [name, c] : circuits_) {
    if (!Refuses(c, now)) continue;
    ++refusing;
    account = account || ForAccount(c);
    all_pinned = all_pinned && Pinned(c);
    first = std::min(first, End(c));
  }
  if (account || (!whole() && s_.span_models > 0 && refusing >= s_.span_models)) {
    return Block{first, all_pinned, true, Refusal::kProviderOpen};
  }
  if (own != circuits_.end() && own->second.state == CircuitState::kHalfOpen &&
      s_.half_open_max_in_flight > 0 && own->second.probes_out >= s_.half_open_max_in_flight) {
    return Block{now + std::chrono::seconds(1), false, whole(), Refusal::kHalfOpenBusy};
  }
  return std::nullopt;
}

// R67: what idled for ten minutes goes when a new model is asked for.
void ShadowProvider::Expire(TimePoint now) {
  for (auto it = circuits_.begin(); it != circuits_.end();) {
    const ShadowState& c = it->second;
    if (c.state != CircuitState::kClosed || c.in_flight != 0 ||
        now - c.used <= std::chrono::minutes(10)) {
      ++it;
      continue;
    }
    if (c.epoch != absent_epoch_) absent_epoch_ = std::max(absent_epoch_, c.epoch) + 1;
    it = circuits_.erase(it);
  }
}

ShadowState& ShadowProvider::Make(const std::string& name, TimePoint now) {
  ShadowState& c = circuits_[name];
  c.used = now;
  c.epoch = absent_epoch_;
  births_[name] = next_birth_++;
  return c;
}

ShadowPermit ShadowProvider::Acquire(const std::string& model, bool direct, TimePoint now) {
  ShadowPermit permit;
  permit.model = Name(model);
  if (!on()) return permit;
  auto at = circuits_.find(permit.model);
  if (at == circuits_.end()) {
    permit.epoch = absent_epoch_;
    if (s_.on_capacity == CircuitBreakerSettings::OnCapacity::kGrow) return permit;
    Expire(now);
    Make(permit.model, now);
    at = circuits_.find(permit.model);
  }
  ShadowState& c = at->second;
  const bool busy = c.state == CircuitState::kHalfOpen && s_.half_open_max_in_flight > 0 &&
                    c.probes_out >= s_.half_open_max_in_flight;
  if (direct && (Refuses(c, now) || busy)) {
    permit.epoch = 0;  // sent, but heard no more
    return permit;
  }
  if (c.state == CircuitState::kOpen) {
    c.state = CircuitState::kHalfOpen;
    c.probes_out = 0;
    c.successes = 0;
    ++c.epoch;
  }
  permit.probe = c.state == CircuitState::kHalfOpen;
  if (permit.probe) ++c.probes_out;
  ++c.in_flight;
  c.used = now;
  permit.epoch = c.epoch;
  permit.birth = births_[permit.model];
  return permit;
}

void ShadowProvider::StampPin(ShadowState& c, const CircuitReport& report,
                              const QuotaReading& reading, TimePoint now) {
  c.pin = PinSource::kNone;
  c.cooldown = Unpinned(c);
  c.jittered = false;
  const bool spent = reading.kind == QuotaReading::Kind::kExhausted ||
                     reading.kind == QuotaReading::Kind::kReserveReached;
  const bool advised = spent && reading.resets_at && *reading.resets_at > now;
  if (!advised && !report.pin) return;
  const Duration span =
      std::min(advised ? *reading.resets_at - now : report.pin->duration, s_.quota_pin_max);
  if (span <= c.cooldown) return;
  c.jittered = true;
  if (advised) {
    c.pin =
        reading.kind == QuotaReading::Kind::kExhausted ? PinSource::kAdvisor : PinSource::kReserve;
    c.cooldown = span;
  } else {
    c.pin = report.pin->account ? PinSource::kAccount : PinSource::kResponse;
    const Duration unpinned = c.cooldown;
    c.cooldown = span;
    if (s_.pin_probe_interval > Duration::zero()) {
      c.cooldown = std::min(span, std::max(s_.pin_probe_interval, unpinned));
    }
  }
}

void ShadowProvider::Open(ShadowState& c, const CircuitReport& report, const QuotaReading& reading,
                          TimePoint now) {
  const bool refused_pin_probe = report.verdict == Verdict::kOpenNow &&
                                 (c.pin == PinSource::kResponse || c.pin == PinSource::kAccount);
  if (c.state == CircuitState::kHalfOpen && !refused_pin_probe) ++c.failed_probes;
  if (report.rate_limited && settings_.rate_limit.classify) {
    if (c.limited == 0 || now - c.limited_since >= kDay) {
      c.limited = 0;
      c.limited_since = now;
    }
    ++c.limited;
  } else {
    c.limited = 0;
  }
  c.backoff = Duration::zero();
  if (c.failed_probes > 0 && s_.backoff_max > s_.timeout) {
    const Duration ceiling =
        c.limited >= 3 ? std::max(s_.backoff_max, s_.quota_pin_max) : s_.backoff_max;
    c.backoff = s_.timeout;
    for (int i = 0; i < c.failed_probes; ++i) c.backoff = std::min(ceiling, c.backoff * 2);
  }
  StampPin(c, report, reading, now);
  c.state = CircuitState::kOpen;
  c.fails = std::max(c.fails, s_.failure_threshold);
  c.opened_at = now;
  ++c.epoch;
  ++opened_;
}

BreakerEffect ShadowProvider::Settle(const ShadowPermit& permit, const CircuitReport& report,
                                     const QuotaReading& reading, TimePoint now) {
  if (!on()) return BreakerEffect::kDisabled;
  auto at = circuits_.find(permit.model);
  if (at != circuits_.end()) {
    ShadowState& c = at->second;
    if (permit.birth == births_[permit.model] && permit.birth != 0) --c.in_flight;
    if (permit.probe && permit.epoch == c.epoch && c.state == CircuitState::kHalfOpen) {
      --c.probes_out;
    }
  }
  if (at != circuits_.end() && report.verdict != Verdict::kAbandoned) at->second.used = now;
  if (report.verdict == Verdict::kAbandoned || report.verdict == Verdict::kNeutral) {
    return BreakerEffect::kNoop;
  }
  const bool grow = s_.on_capacity == CircuitBreakerSettings::OnCapacity::kGrow;
  if (at == circuits_.end()) {
    if (permit.epoch != absent_epoch_) return BreakerEffect::kNoop;
    const bool charge = report.verdict == Verdict::kFailure || report.verdict == Verdict::kOpenNow;
    if (charge && !grow) Expire(now);
    Make(permit.model, now);
    at = circuits_.find(permit.model);
  }
  ShadowState& c = at->second;
  if (permit.epoch != c.epoch || c.state == CircuitState::kOpen) return BreakerEffect::kNoop;
  if (report.verdict == Verdict::kSuccess || report.verdict == Verdict::kAlive) {
    if (report.verdict == Verdict::kSuccess) c.served = now;
    if (c.state == CircuitState::kClosed) {
      c.fails = 0;
    } else if (++c.successes >= s_.success_threshold) {
      ShadowState fresh;
      fresh.epoch = c.epoch + 1;
      fresh.in_flight = c.in_flight;
      fresh.served = c.served;
      fresh.used = c.used;
      c = fresh;
      ++closed_;
    }
    return report.verdict == Verdict::kSuccess ? BreakerEffect::kSuccess : BreakerEffect::kAlive;
  }
  if (c.state == CircuitState::kClosed) {
    c.fails = std::min(c.fails + 1, std::max(c.fails, s_.failure_threshold));
    if (report.verdict != Verdict::kOpenNow && c.fails < s_.failure_threshold) {
      return BreakerEffect::kCharge;
    }
  }
  Open(c, report, reading, now);
  return BreakerEffect::kCharge;
}

void ShadowProvider::Reset(std::optional<std::string> model) {
  for (auto it = circuits_.begin(); it != circuits_.end();) {
    if (model && it->first != Name(*model)) {
      ++it;
      continue;
    }
    absent_epoch_ = std::max(absent_epoch_, it->second.epoch) + 1;
    it = circuits_.erase(it);
  }
}

void ShadowProvider::Advise(const QuotaReading& reading, TimePoint now) {
  if (const auto seed = circuits_.find(kSeed);
      seed != circuits_.end() && !(Refuses(seed->second, now) && Pinned(seed->second))) {
    circuits_.erase(seed);
  }
  const bool spent = reading.kind == QuotaReading::Kind::kExhausted ||
                     reading.kind == QuotaReading::Kind::kReserveReached;
  if (reading.kind == QuotaReading::Kind::kHealthy) {
    for (auto& [name, c] : circuits_) {
      if (!ForAccount(c)) continue;
      c.pin = PinSource::kNone;
      c.cooldown = Unpinned(c);
      c.jittered = false;
      c.limited = 0;
    }
    circuits_.erase(kSeed);
    return;
  }
  if (!spent || !reading.resets_at || *reading.resets_at <= now || !on()) return;
  const PinSource source =
      reading.kind == QuotaReading::Kind::kExhausted ? PinSource::kAdvisor : PinSource::kReserve;
  bool account = false;
  for (auto& [name, c] : circuits_) {
    if (!Refuses(c, now)) continue;
    const Duration span = std::min(*reading.resets_at - c.opened_at, s_.quota_pin_max);
    if (span > c.cooldown) {
      c.pin = source;
      c.cooldown = span;
      c.jittered = true;
    }
    account = account || ForAccount(c);
  }
  if (account) return;
  const Duration span = std::min(*reading.resets_at - now, s_.quota_pin_max);
  if (span <= s_.timeout) return;
  ShadowState& c = Make(kSeed, now);
  c.state = CircuitState::kOpen;
  c.fails = s_.failure_threshold;
  c.opened_at = now;
  c.pin = source;
  c.cooldown = span;
  c.jittered = true;
  ++opened_;
}

}  // namespace hotel::model
