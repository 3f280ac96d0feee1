// Random tapes over the circuits of one provider, under the options of both profiles and random
// ones.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/defaults.h"
#include "hotel/events.h"
#include "hotel/settings.h"

#include "libhotel/settings/registry.h"
#include "tests/model/random_inputs.h"
#include "tests/model/shadow_provider.h"
#include "tests/support/catch.h"

namespace hotel::model {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kTapes = 500;
#else
constexpr std::uint64_t kTapes = 4'000;
#endif
constexpr int kModels = 4;

struct Reached {
  std::map<Refusal, int> refusals;
  std::map<PinSource, int> pins;
  int backed_off = 0;
  int stale = 0;
  int closed = 0;
  int opened = 0;
};

class CountedEvents : public EventSink {
 public:
  void OnEvent(const Event& event) override {
    if (event.type == "circuit_breaker.open") ++opened;
    if (event.type == "circuit_breaker.closed") ++closed;
  }
  int opened = 0;
  int closed = 0;
};

Settings RandomOptions(Dice& dice) {
  Settings settings;
  settings.global = settings::ProfileDefaults(dice.Below(2));
  if (dice.OneIn(3)) return settings;
  CircuitBreakerSettings& s = settings.global.circuit_breaker;
  s.scope = dice.OneIn(3) ? CircuitBreakerSettings::Scope::kProvider
                          : CircuitBreakerSettings::Scope::kModel;
  s.span_models = dice.Below(4);
  s.failure_threshold = dice.Pick<int, 4>({1, 2, 3, 5});
  s.success_threshold = dice.Pick<int, 3>({1, 2, 3});
  s.half_open_max_in_flight = dice.Below(4);
  s.timeout = seconds(dice.Pick<int, 3>({1, 30, 60}));
  s.backoff_max = seconds(dice.Pick<int, 4>({0, 60, 900, 10'000}));
  s.quota_pin_max = seconds(dice.Pick<int, 3>({0, 3600, 86'400}));
  s.pin_probe_interval = seconds(dice.Pick<int, 3>({0, 600, 3600}));
  s.on_capacity = dice.OneIn(2) ? CircuitBreakerSettings::OnCapacity::kReject
                                : CircuitBreakerSettings::OnCapacity::kGrow;
  s.enabled = !dice.OneIn(20);
  settings.global.rate_limit.classify = !dice.OneIn(4);
  return settings;
}

class Tape {
 public:
  Tape(std::uint64_t seed, Reached* reached)
      : dice_(seed),
        reached_(reached),
        settings_(RandomOptions(dice_)),
        source_(MakeFixedSettings(settings_)),
        board_(MakeQuotaAdvisor()),
        breaker_(MakeCircuitBreaker(source_.get(), &events_, {board_.get(), nullptr, seed})),
        shadow_(&settings_.global) {}

  std::string Play() {
    for (int step = 0; step < 120 && broken_.empty(); ++step) {
      Step();
      Compare();
    }
    while (!held_.empty() && broken_.empty()) Settle(0, {Verdict::kAbandoned});
    Compare();
    for (const CircuitView& view : breaker_->Views(now_)) {
      Require(view.in_flight == 0, "permits return to zero");
    }
    // Nothing is blocked for ever: the longest pin is a day and a twentieth.
    const TimePoint later = now_ + hours(26);
    for (int i = 0; i < kModels; ++i) {
      Require(!breaker_->Blocked(Key(i), later).has_value(), "every block ends");
    }
    Require(events_.opened == shadow_.opened(), "an event per opening");
    Require(events_.closed == shadow_.closed(), "an event per closing");
    reached_->opened += events_.opened;
    reached_->closed += events_.closed;
    return broken_;
  }

 private:
  struct Held {
    Permit permit;
    ShadowPermit shadow;
  };

  static CircuitKey Key(int model) { return {"p", "m" + std::to_string(model), "p"}; }

  void Require(bool condition, const std::string& what) {
    if (!condition && broken_.empty()) broken_ = what;
  }

  void Step() {
    switch (dice_.Below(12)) {
      case 0:
      case 1:
        now_ += seconds(dice_.Pick<int, 5>({0, 1, 30, 60, 900}));
        return;
      case 2:
        return JumpToAnEnd();
      case 3:
        if (dice_.OneIn(6)) now_ += hours(dice_.Pick<int, 2>({1, 25}));
        return;
      case 4:
        return Advise();
      case 5:
        return dice_.OneIn(8) ? Reset() : Acquire(/*direct=*/true);
      case 6:
      case 7:
      case 8:
        return Acquire(/*direct=*/false);
      default:
        if (!held_.empty()) Settle(At(dice_.Below(static_cast<int>(held_.size()))), RandomReport());
        return;
    }
  }

  /// To the very instant at which a circuit comes back, or just before it.
  void JumpToAnEnd() {
    const auto block = breaker_->Blocked(Key(dice_.Below(kModels)), now_);
    if (block) now_ = block->until - Duration(dice_.Below(2));
  }

  CircuitReport RandomReport() {
    CircuitReport report;
    report.verdict = static_cast<Verdict>(dice_.Below(6));
    report.cause = report.verdict == Verdict::kSuccess ? "success" : "upstream status 500";
    report.status = report.verdict == Verdict::kSuccess ? 200 : 500;
    report.rate_limited = dice_.OneIn(2);
    if (dice_.OneIn(2)) {
      report.pin =
          PinHint{seconds(dice_.Pick<int, 5>({0, 40, 700, 20'000, 900'000})), dice_.OneIn(2)};
    }
    return report;
  }

  QuotaReading RandomReading() {
    QuotaReading reading{static_cast<QuotaReading::Kind>(dice_.Below(4)), std::nullopt};
    if (!dice_.OneIn(4)) {
      reading.resets_at = now_ + seconds(dice_.Pick<int, 4>({0, 50, 7000, 700'000}));
    }
    return reading;
  }

  void Advise() {
    const QuotaReading reading = RandomReading();
    if (dice_.OneIn(3)) board_->Set("p", reading);
    if (dice_.OneIn(3)) board_->Clear("p");
    breaker_->ApplyQuotaAdvice({{"p", "p", reading}}, now_);
    shadow_.Advise(reading, now_);
  }

  void Reset() {
    if (dice_.OneIn(3)) {
      breaker_->Reset("p", std::nullopt, now_);
      return shadow_.Reset(std::nullopt);
    }
    const std::string model = Key(dice_.Below(kModels)).model;
    breaker_->Reset("p", model, now_);
    shadow_.Reset(model);
  }

  void Acquire(bool direct) {
    if (held_.size() >= 12) return;
    const CircuitKey key = Key(dice_.Below(kModels));
    const std::optional<Block> block = shadow_.Blocked(key.model, now_);
    Permit permit;
    if (direct) {
      permit = breaker_->AcquireDirect(key, now_);
    } else {
      Admission admission = breaker_->TryAcquire(key, now_);
      Require(admission.admitted() != block.has_value(), "admitted when and only when not blocked");
      if (!admission.admitted()) {
        ++reached_->refusals[admission.refusal];
        if (!block) return;
        Require(admission.refusal == block->reason, "the reason of a refusal");
        Require(admission.pinned == block->pinned, "whether a refusal is pinned");
        return;
      }
      permit = std::move(admission.permit);
    }
    ShadowPermit shadow = shadow_.Acquire(key.model, direct, now_);
    Require(permit.enforced() == shadow_.on(), "a permit knows the switch");
    Require(permit.probe() == shadow.probe, "a permit knows that it probes");
    held_.push_back({std::move(permit), std::move(shadow)});
  }

  void Settle(std::size_t index, const CircuitReport& report) {
    Held held = std::move(held_[index]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
    const auto at = shadow_.circuits().find(held.shadow.model);
    if (at != shadow_.circuits().end() && at->second.epoch != held.shadow.epoch) ++reached_->stale;
    const BreakerEffect expected = shadow_.Settle(held.shadow, report, board_->Reading("p"), now_);
    if (report.verdict == Verdict::kAbandoned && dice_.OneIn(2)) {
      held.permit = Permit();  // dies unreported
      return;
    }
    const BreakerEffect effect = held.permit.Report(report, now_);
    Require(effect == expected || report.verdict == Verdict::kAbandoned, "the effect of a report");
  }

  void Compare() {
    const std::vector<CircuitView> views = breaker_->Views(now_);
    Require(!shadow_.on() || views.size() == shadow_.circuits().size(),
            "the circuits that are kept");
    for (const CircuitView& view : views) CompareView(view);
    for (int i = 0; i < kModels && broken_.empty(); ++i) CompareBlock(i);
  }

  void CompareView(const CircuitView& view) {
    const auto at = shadow_.circuits().find(view.key.model);
    if (at == shadow_.circuits().end()) return Require(false, "no circuit from nowhere");
    ShadowState& c = at->second;
    const bool refuses = view.next_retry_at.has_value();
    if (refuses && c.jittered) {
      const Duration more = *view.cooldown - c.cooldown;
      const Duration most =
          std::max(c.cooldown, settings_.global.circuit_breaker.pin_probe_interval);
      Require(more >= Duration::zero() && more <= most / 20, "a pin is jittered by up to 5 %");
      c.cooldown = *view.cooldown;
      c.jittered = false;
    }
    Require(refuses == shadow_.Refuses(c, now_), "refuses as the rules say");
    Require(view.consecutive_fails == c.fails, "the streak as the rules say");
    Require(view.failed_probes == c.failed_probes, "the failed probes as the rules say");
    Require(view.in_flight == c.in_flight, "every permit is counted once");
    const CircuitState seen =
        c.state == CircuitState::kOpen && !refuses ? CircuitState::kHalfOpen : c.state;
    Require(view.state == seen, "the state as the rules say");
    const int limit = settings_.global.circuit_breaker.half_open_max_in_flight;
    Require(limit == 0 || c.probes_out <= limit, "half-open admits no more than its quota");
    if (view.key.model != kAccountQuotaModel) {
      Require(breaker_->RecentSuccess({"p", view.key.model, "p"}, seconds(60), now_) ==
                  (c.served && now_ - *c.served <= seconds(60)),
              "recent successes");
    }
    if (!refuses) return;
    Require(view.cooldown == c.cooldown, "the cooldown as the rules say");
    Require(view.opened_at == c.opened_at, "the opening as the rules say");
    Require(view.pin_source == c.pin, "the pin as the rules say");
    Require(view.next_retry_at == *view.opened_at + *view.cooldown, "a view adds up");
    ++reached_->pins[view.pin_source];
    if (view.backed_off) ++reached_->backed_off;
  }

  void CompareBlock(int model) {
    const std::optional<Block> real = breaker_->Blocked(Key(model), now_);
    const std::optional<Block> rules = shadow_.Blocked(Key(model).model, now_);
    if (real.has_value() != rules.has_value()) return Require(false, "blocked as the rules say");
    if (!real) return;
    Require(real->until == rules->until && real->until > now_, "the end of a block");
    Require(real->reason == rules->reason, "the reason of a block");
    Require(real->pinned == rules->pinned, "whether a block is pinned");
    Require(real->provider_wide == rules->provider_wide, "whether a block is the provider's");
  }

  static std::size_t At(int index) { return static_cast<std::size_t>(index); }

  Dice dice_;
  Reached* reached_;
  const Settings settings_;
  std::unique_ptr<SettingsSource> source_;
  CountedEvents events_;
  std::unique_ptr<QuotaBoard> board_;
  std::unique_ptr<CircuitBreaker> breaker_;
  ShadowProvider shadow_;
  std::vector<Held> held_;
  TimePoint now_{hours(1000)};
  std::string broken_;
};

}  // namespace

TEST_CASE("circuits do what the rules say, on random tapes under both profiles") {
  Reached reached;
  for (std::uint64_t seed = 1; seed <= kTapes; ++seed) {
    const std::string broken = Tape(seed, &reached).Play();
    if (!broken.empty()) {
      INFO("seed " << seed);
      FAIL(broken);
    }
  }
  constexpr int kOften = static_cast<int>(kTapes / 100);
  for (const Refusal refusal :
       {Refusal::kCircuitOpen, Refusal::kProviderOpen, Refusal::kHalfOpenBusy}) {
    INFO(RefusalName(refusal));
    CHECK(reached.refusals[refusal] > kOften);
  }
  for (const PinSource source : {PinSource::kNone, PinSource::kAdvisor, PinSource::kReserve,
                                 PinSource::kResponse, PinSource::kAccount}) {
    INFO(PinSourceName(source));
    CHECK(reached.pins[source] > kOften);
  }
  CHECK(reached.backed_off > kOften);
  CHECK(reached.stale > kOften);
  CHECK(reached.closed > kOften);
  CHECK(reached.opened > kOften);
}

}  // namespace hotel::model
