// A breaker with settings and events that a test controls.
#ifndef HOTEL_TESTS_UNIT_GUARD_BREAKER_FIXTURE_H_
#define HOTEL_TESTS_UNIT_GUARD_BREAKER_FIXTURE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/defaults.h"
#include "hotel/events.h"
#include "hotel/settings.h"

namespace hotel::guard::test {

using std::chrono::seconds;

inline constexpr TimePoint kNow{std::chrono::hours(1)};

/// Settings that may be swapped while the breaker runs. Thread-safe.
class SwitchableSettings : public SettingsSource {
 public:
  SwitchableSettings() {
    Settings settings;
    settings.global.circuit_breaker.failure_threshold = 5;
    settings.global.circuit_breaker.timeout = seconds(60);
    Set(std::move(settings));
  }
  void Set(Settings settings) {
    auto next = std::make_shared<const Settings>(std::move(settings));
    std::lock_guard<std::mutex> lock(mutex_);
    current_ = std::move(next);
    ++generation_;
  }
  std::uint64_t Generation() const noexcept override { return generation_; }
  std::shared_ptr<const Settings> Current() const noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    return current_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Settings> current_;
  std::atomic<std::uint64_t> generation_{0};
};

/// Keeps events; thread-safe.
class KeptEvents : public EventSink {
 public:
  void OnEvent(const Event& event) override {
    std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
  }
  void OnNote(const LogNote& note) override {
    std::lock_guard<std::mutex> lock(mutex_);
    notes_.push_back(note);
  }
  std::vector<Event> Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(events_, {});
  }
  std::vector<LogNote> TakeNotes() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(notes_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
  std::vector<LogNote> notes_;
};

struct Fixture {
  SwitchableSettings settings;
  KeptEvents events;
  std::unique_ptr<QuotaBoard> board = MakeQuotaAdvisor();
  std::unique_ptr<CircuitBreaker> breaker =
      MakeCircuitBreaker(&settings, &events, CircuitBreakerOptions{board.get(), nullptr, 7});

  /// Changes the options of all circuits from now on.
  template <typename Edit>
  void Change(Edit edit) {
    Settings next = *settings.Current();
    edit(next.global.circuit_breaker);
    settings.Set(std::move(next));
  }

  static CircuitKey Key(std::string model = "m", std::string provider = "p1") {
    std::string name = "name-" + provider;
    return CircuitKey{std::move(provider), std::move(model), std::move(name)};
  }

  /// One attempt, whatever the circuit says.
  BreakerEffect Once(const CircuitKey& key, Verdict verdict, TimePoint now = kNow,
                     int status = 500) {
    return breaker->AcquireDirect(key, now).Report(
        CircuitReport{verdict, "upstream status " + std::to_string(status), status}, now);
  }
  void Open(const CircuitKey& key, TimePoint now = kNow) { Once(key, Verdict::kOpenNow, now); }
  std::optional<TimePoint> Until(const CircuitKey& key, TimePoint now = kNow) {
    const std::optional<Block> block = breaker->Blocked(key, now);
    if (!block) return std::nullopt;
    return block->until;
  }
  /// One attempt with a full report.
  BreakerEffect Report(const CircuitKey& key, const CircuitReport& report, TimePoint now = kNow) {
    return breaker->AcquireDirect(key, now).Report(report, now);
  }
  CircuitView View(const CircuitKey& key, TimePoint now = kNow) {
    for (CircuitView& view : breaker->Views(now)) {
      if (view.key.provider_id == key.provider_id && view.key.model == key.model) return view;
    }
    return {};
  }
};

}  // namespace hotel::guard::test

#endif  // HOTEL_TESTS_UNIT_GUARD_BREAKER_FIXTURE_H_
