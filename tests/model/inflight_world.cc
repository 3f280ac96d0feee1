#include "tests/model/inflight_world.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/inflight_limiter.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/base/random.h"

namespace hotel::model {
namespace {

constexpr std::size_t kProviders = 3;
constexpr std::array<const char*, kProviders> kIds = {"p0", "p1", "p2"};
constexpr int kSteps = 120;

class TapeSettings : public SettingsSource {
 public:
  std::shared_ptr<const Settings> Current() const noexcept override { return current_; }
  void Set(const InflightLimiterSettings& inflight) {
    Settings settings;
    settings.global.inflight_limiter = inflight;
    current_ = std::make_shared<const Settings>(std::move(settings));
  }

 private:
  std::shared_ptr<const Settings> current_;
};

struct Held {
  std::size_t provider = 0;
  InflightSlot slot;
};

struct Waiting {
  std::vector<std::size_t> providers;
  std::unique_ptr<int> calls = std::make_unique<int>(0);
  bool ready_at_once = false;
  bool seen_ready = false;
  std::uint64_t age = 0;  ///< of the first place this request had
  SlotWait wait;
};

class InflightWorld {
 public:
  InflightWorld(std::uint64_t seed, InflightCoverage* coverage)
      : random_(seed), coverage_(*coverage) {
    ChangeSettings();
    for (int& ceiling : ceilings_) ceiling = static_cast<int>(Below(4));
  }

  std::string Play() {
    for (int step = 0; step < kSteps && problem_.empty(); ++step) {
      before_ = See();
      Step();
      Check();
    }
    if (problem_.empty()) Finish();
    return problem_;
  }

 private:
  struct Seen {
    int limit = 0;
    int effective = 0;
    int inflight = 0;
    int waiting = 0;
  };
  using AllSeen = std::array<Seen, kProviders>;

  std::size_t Below(std::size_t n) {
    return static_cast<std::size_t>(base::RandomBelow(&random_, n));
  }
  void Fail(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }

  AllSeen See() const {
    AllSeen seen;
    for (const InflightView& view : limiter_->Views(now_)) {
      const std::size_t p = static_cast<std::size_t>(view.provider_id.back() - '0');
      seen[p] = {view.limit, view.effective, view.inflight, view.waiting};
    }
    return seen;
  }

  InflightTarget Target(std::size_t p) const { return {kIds[p], kIds[p], ceilings_[p]}; }

  void Step() {
    switch (Below(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Acquire(Below(kProviders));
      case 4:
      case 5:
        return Enter(0, next_age_);
      case 6:
      case 7:
        return EndOne(SlotEnd::kClean);
      case 8:
        return EndOne(Below(2) == 0 ? SlotEnd::kUnclean : SlotEnd::kUnused);
      case 9:
        return Saturate();
      case 10:
        return Below(4) == 0 ? ShrinkOne() : TakeOne();
      case 11:
        return TakeOne();
      case 12:
        return Leave();
      default:
        return PassTime();
    }
  }

  void Acquire(std::size_t p) {
    const bool busy = limiter_->Busy(Target(p), now_);
    InflightSlot slot = limiter_->TryAcquire(Target(p), now_);
    if (slot.valid() == busy) Fail("Busy and TryAcquire disagree");
    ++(slot.valid() ? coverage_.admitted : coverage_.busy);
    if (slot.valid()) held_.push_back({p, std::move(slot)});
  }

  void Enter(std::uint64_t seniority, std::uint64_t age) {
    Waiting waiting;
    waiting.age = age;
    next_age_ = std::max(next_age_, age + 1);
    std::vector<InflightTarget> targets;
    const std::size_t first = Below(kProviders);
    const std::size_t count = 1 + Below(kProviders);
    for (std::size_t i = 0; i < count; ++i) {
      waiting.providers.push_back((first + i) % kProviders);
      targets.push_back(Target(waiting.providers.back()));
    }
    int* calls = waiting.calls.get();
    waiting.wait = limiter_->Wait(
        targets, now_, [calls] { ++*calls; }, seniority);
    waiting.ready_at_once = waiting.wait.ready();
    if (waiting.ready_at_once) ++coverage_.served_at_once;
    waiting_.push_back(std::move(waiting));
  }

  void EndOne(SlotEnd end) {
    if (held_.empty()) return;
    const auto it = held_.begin() + static_cast<std::ptrdiff_t>(Below(held_.size()));
    const std::size_t p = it->provider;
    // One in four is dropped rather than ended.
    if (end == SlotEnd::kUnclean && Below(4) == 0) {
      held_.erase(it);
    } else {
      it->slot.End(end, now_);
      if (it->slot.valid()) Fail("an ended slot is still valid");
      held_.erase(it);
    }
    const int limit = See()[p].limit;
    if (limit > before_[p].limit && before_[p].limit != 0) {
      ++coverage_.growths;
      if (end != SlotEnd::kClean || limit != before_[p].limit + 1) Fail("a window grew oddly");
    }
  }

  void Saturate() {
    if (held_.empty()) return;
    const auto it = held_.begin() + static_cast<std::ptrdiff_t>(Below(held_.size()));
    const std::size_t p = it->provider;
    const Duration retry_after = std::chrono::seconds(Below(20));
    it->slot.EndSaturated(retry_after, now_);
    held_.erase(it);
    if (!settings_now_.enabled) return;
    ++coverage_.cuts;
    cut_until_[p] = std::max(cut_until_[p], now_ + retry_after);
    const int limit = See()[p].limit;
    if (limit < 1 || limit > std::max(1, before_[p].inflight - 1)) Fail("a cut did not cut");
    if (before_[p].limit != 0 && limit > before_[p].limit) Fail("a cut widened");
  }

  void ShrinkOne() {
    if (held_.empty()) return;
    Held& held = held_[Below(held_.size())];
    held.slot.NoneRemaining(now_);
    if (!held.slot.valid()) Fail("a hint took the slot");
    if (!settings_now_.enabled) return;
    cut_until_[held.provider] = std::max(cut_until_[held.provider], now_);
    const Seen seen = See()[held.provider];
    if (seen.limit < 1 || seen.limit > seen.inflight) {
      if (seen.limit != before_[held.provider].limit) Fail("a hint did not cap");
    }
  }

  void TakeOne() {
    if (waiting_.empty()) return;
    const std::size_t index = Below(waiting_.size());
    Waiting& waiting = waiting_[index];
    const bool ready = waiting.wait.ready();
    std::size_t target = 99;
    InflightSlot slot = waiting.wait.Take(&target);
    if (slot.valid() != ready) Fail("ready() and Take disagree");
    if (!slot.valid()) return;
    if (target >= waiting.providers.size()) return Fail("a slot of no target");
    const std::size_t p = waiting.providers[target];
    const std::uint64_t seniority = waiting.wait.seniority();
    const std::uint64_t age = waiting.age;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    // Some find that they cannot use it, give it back and stand in line again.
    if (Below(4) == 0) {
      slot.End(SlotEnd::kUnused, now_);
      CheckLines();
      Enter(seniority, age);
    } else {
      held_.push_back({p, std::move(slot)});
    }
  }

  void Leave() {
    if (waiting_.empty()) return;
    const auto it = waiting_.begin() + static_cast<std::ptrdiff_t>(Below(waiting_.size()));
    const bool was_ready = it->wait.ready();
    const auto others_ready = [this] {
      return std::count_if(waiting_.begin(), waiting_.end(),
                           [](const Waiting& w) { return w.wait.ready(); });
    };
    const auto before = others_ready() - (was_ready ? 1 : 0);
    waiting_.erase(it);
    const auto after = others_ready();
    if (!was_ready && after != before) Fail("who held nothing passed something on");
    if (was_ready && after > before) ++coverage_.passed_on;
  }

  void PassTime() {
    if (Below(6) == 0) ChangeSettings();
    if (Below(6) == 0) ceilings_[Below(kProviders)] = static_cast<int>(Below(5));
    now_ += std::chrono::seconds(Below(40));
    std::vector<InflightTarget> changed;
    for (std::size_t p = 0; p < kProviders; ++p) changed.push_back(Target(p));
    limiter_->Refresh(changed, now_);
    const AllSeen after = See();
    for (std::size_t p = 0; p < kProviders; ++p) {
      if (before_[p].limit != 0 && after[p].limit == 0) ++coverage_.forgotten;
    }
  }

  void ChangeSettings() {
    settings_now_.enabled = Below(8) != 0;
    settings_now_.grow_after = 1 + static_cast<int>(Below(4));
    settings_now_.forget_after = std::chrono::seconds(20 + Below(200));
    settings_.Set(settings_now_);
  }

  void Check() {
    const AllSeen seen = See();
    std::array<int, kProviders> out{};
    for (const Held& held : held_) ++out[held.provider];
    std::uint64_t in_line = 0;
    for (Waiting& waiting : waiting_) {
      const int expected = waiting.wait.ready() && !waiting.ready_at_once ? 1 : 0;
      if (*waiting.calls != expected) Fail("a waiter was not called exactly once for its slot");
      if (expected == 1 && !waiting.seen_ready) ++coverage_.served_later;
      if (!waiting.wait.ready()) ++in_line;
    }
    coverage_.most_waiting = std::max(coverage_.most_waiting, in_line);
    int untaken = static_cast<int>(waiting_.size() - in_line);
    for (std::size_t p = 0; p < kProviders; ++p) {
      if (seen[p].inflight < out[p]) Fail("fewer in flight than slots held");
      untaken -= seen[p].inflight - out[p];
      if (seen[p].effective != 0 && seen[p].inflight > seen[p].effective &&
          seen[p].inflight > before_[p].inflight) {
        Fail("admitted above the effective limit");
      }
      if (seen[p].limit != 0 && now_ - cut_until_[p] >= settings_now_.forget_after) {
        Fail("a window outlived forget_after");
      }
      if (seen[p].limit != 0 && !settings_now_.enabled) Fail("a window while the learner is off");
    }
    if (untaken != 0) Fail("in flight is not what is held and what lies ready");
    CheckLines();
  }

  // Nobody is left standing where there is room, and nobody was overtaken.
  void CheckLines() {
    const AllSeen seen = See();
    for (const Waiting& waiting : waiting_) {
      if (waiting.wait.ready()) continue;
      for (const std::size_t p : waiting.providers) {
        if (seen[p].effective == 0 || seen[p].inflight < seen[p].effective) {
          Fail("a waiter stands where there is room");
        }
      }
    }
    // Of those served since the last look: nobody older stood wherever they stood.
    for (const Waiting& served : waiting_) {
      if (!served.wait.ready() || served.seen_ready || served.ready_at_once) continue;
      for (const Waiting& older : waiting_) {
        if (older.wait.ready() || older.age >= served.age) continue;
        const bool wants_all =
            std::all_of(served.providers.begin(), served.providers.end(), [&](std::size_t p) {
              return std::find(older.providers.begin(), older.providers.end(), p) !=
                     older.providers.end();
            });
        if (wants_all) Fail("a waiter was overtaken");
      }
    }
    for (Waiting& waiting : waiting_) waiting.seen_ready = waiting.wait.ready();
  }

  void Finish() {
    waiting_.clear();
    held_.clear();
    for (const Seen& seen : See()) {
      if (seen.inflight != 0) Fail("slots are missing at the end");
      if (seen.waiting != 0) Fail("somebody stands in line at the end");
    }
    now_ += std::chrono::hours(25);
    if (!limiter_->Views(now_).empty()) Fail("a window was not forgotten");
  }

  std::uint64_t random_;
  InflightCoverage& coverage_;
  InflightLimiterSettings settings_now_;
  TapeSettings settings_;
  TimePoint now_{std::chrono::hours(1)};
  std::array<int, kProviders> ceilings_{};
  std::array<TimePoint, kProviders> cut_until_{};
  std::unique_ptr<InflightLimiter> limiter_ = MakeInflightLimiter(&settings_);
  std::vector<Held> held_;
  std::vector<Waiting> waiting_;
  std::uint64_t next_age_ = 1;
  AllSeen before_{};
  std::string problem_;
};

}  // namespace

std::string PlayInflightTape(std::uint64_t seed, InflightCoverage* coverage) {
  ++coverage->tapes;
  return InflightWorld(seed, coverage).Play();
}

}  // namespace hotel::model
