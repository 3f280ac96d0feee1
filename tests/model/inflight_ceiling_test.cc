// A provider that takes three requests at a time, under ten clients that never rest, over a virtual
// hour: how much of it is used, and how often is it asked for a fourth?
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/inflight_limiter.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "tests/support/catch.h"

namespace hotel::model {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kCeiling = 3;
constexpr std::size_t kClients = 10;
constexpr Duration kHour = std::chrono::hours(1);
constexpr Duration kService = seconds(2);
constexpr Duration kRefusal = milliseconds(50);
constexpr Duration kPause = milliseconds(1);  // of a client between two requests

class Ceiling {
 public:
  Ceiling(bool learn, int max_in_flight) : max_in_flight_(max_in_flight) {
    Settings settings = Settings::Defaults();
    settings.global.inflight_limiter.enabled = learn;
    settings_ = MakeFixedSettings(std::move(settings));
    limiter_ = MakeInflightLimiter(settings_.get());
    clients_.resize(kClients);
  }

  void Run() {
    for (std::size_t c = 0; c < kClients; ++c) At(TimePoint{}, [this, c] { Ask(c); });
    while (!agenda_.empty() && agenda_.begin()->first < TimePoint{kHour}) {
      auto next = agenda_.extract(agenda_.begin());
      now_ = next.key();
      next.mapped()();
    }
    agenda_.clear();
  }

  std::uint64_t sent = 0;
  std::uint64_t refused = 0;
  std::uint64_t served = 0;
  double Used() const {
    return static_cast<double>(served) * std::chrono::duration<double>(kService).count() /
           (kCeiling * std::chrono::duration<double>(kHour).count());
  }
  std::vector<std::uint64_t> ServedPerClient() const {
    std::vector<std::uint64_t> all;
    for (const Client& client : clients_) all.push_back(client.served);
    return all;
  }

 private:
  struct Client {
    SlotWait wait;
    InflightSlot slot;
    std::uint64_t served = 0;
  };

  void At(TimePoint when, std::function<void()> task) { agenda_.emplace(when, std::move(task)); }
  InflightTarget Target() const { return {"p", "p", max_in_flight_}; }

  void Ask(std::size_t c) {
    Client& client = clients_[c];
    client.slot = limiter_->TryAcquire(Target(), now_);
    if (client.slot.valid()) return Send(c);
    client.wait =
        limiter_->Wait({Target()}, now_, [this, c] { At(now_, [this, c] { Served(c); }); });
  }

  void Served(std::size_t c) {
    std::size_t target = 0;
    clients_[c].slot = clients_[c].wait.Take(&target);
    clients_[c].wait = SlotWait();
    Send(c);
  }

  void Send(std::size_t c) {
    ++sent;
    if (busy_ == kCeiling) {
      ++refused;
      return At(now_ + kRefusal, [this, c] {
        clients_[c].slot.EndSaturated(seconds(2), now_);
        At(now_ + kPause, [this, c] { Ask(c); });
      });
    }
    ++busy_;
    At(now_ + kService, [this, c] {
      --busy_;
      ++served;
      ++clients_[c].served;
      clients_[c].slot.End(SlotEnd::kClean, now_);
      At(now_ + kPause, [this, c] { Ask(c); });
    });
  }

  const int max_in_flight_;
  std::unique_ptr<SettingsSource> settings_;
  std::unique_ptr<InflightLimiter> limiter_;
  std::multimap<TimePoint, std::function<void()>> agenda_;
  TimePoint now_{};
  int busy_ = 0;
  std::vector<Client> clients_;  // first to go: a dying slot may still call the next in line
};

}  // namespace

TEST_CASE("a provider at its ceiling of 3 under 10 clients: the learner keeps its slots busy") {
  Ceiling ceiling(/*learn=*/true, 0);
  ceiling.Run();
  CHECK(ceiling.Used() > 0.97);
  // One probe for a fourth slot per 20 clean answers is what learning costs.
  CHECK(ceiling.refused * 20 < ceiling.sent);
  CHECK(ceiling.refused > 50);
  for (const std::uint64_t served : ceiling.ServedPerClient()) {
    CHECK(served > ceiling.served / kClients * 9 / 10);
  }
}

TEST_CASE("a known max_in_flight of 3 keeps the slots busy without a single refusal") {
  for (const bool learn : {true, false}) {
    Ceiling ceiling(learn, kCeiling);
    ceiling.Run();
    CHECK(ceiling.Used() > 0.99);
    CHECK(ceiling.refused == 0);
    for (const std::uint64_t served : ceiling.ServedPerClient()) {
      CHECK(served >= ceiling.served / kClients - 1);
    }
  }
}

TEST_CASE("with neither, most of what is sent is refused: the comparison") {
  Ceiling ceiling(/*learn=*/false, 0);
  ceiling.Run();
  CHECK(ceiling.refused > 10 * ceiling.served);
}

}  // namespace hotel::model
