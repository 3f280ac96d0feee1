// Many threads at the gate of one key (decisions 7: no overspend; facts o: an atomic reservation).
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hotel/request_gate.h"

#include "libhotel/base/mutex.h"
#include "tests/support/catch.h"

namespace hotel::guard {
namespace {

constexpr std::int64_t kDollar = KeyBudget::kDollar;
constexpr int kThreads = 64;

/// Keys in memory.
class FakeKeys final : public KeyStore {
 public:
  void Put(VirtualKey key) {
    base::MutexLock lock(&mutex_);
    keys_.push_back(std::move(key));
    snapshot_ = std::make_shared<const KeySnapshot>(keys_);
  }
  void Clear() {
    base::MutexLock lock(&mutex_);
    keys_.clear();
    snapshot_ = std::make_shared<const KeySnapshot>(keys_);
  }
  void Fail(bool fail) { fail_ = fail; }
  std::int64_t written(const std::string& id) {
    base::MutexLock lock(&mutex_);
    return written_[id].tokens();
  }

  std::shared_ptr<const KeySnapshot> Snapshot() const noexcept override {
    base::MutexLock lock(&mutex_);
    return snapshot_;
  }
  absl::StatusOr<NewKey> Create(const KeySpec&) override { return absl::UnavailableError(""); }
  absl::StatusOr<VirtualKey> Update(std::string_view,
                                    const std::function<void(KeySpec*)>&) override {
    return absl::UnavailableError("");
  }
  absl::Status Delete(std::string_view) override { return absl::OkStatus(); }
  absl::Status ApplyFile(const std::vector<FileKey>&) override { return absl::OkStatus(); }
  absl::StatusOr<std::map<std::string, KeyUsage, std::less<>>> ReadUsage() override {
    return std::map<std::string, KeyUsage, std::less<>>(written_.begin(), written_.end());
  }
  absl::Status AddUsage(const std::vector<KeyCharge>& charges) override {
    if (fail_) return absl::UnavailableError("the database is locked");
    base::MutexLock lock(&mutex_);
    for (const KeyCharge& charge : charges) {
      KeyUsage& sum = written_[charge.key_id];
      sum.requests += charge.usage.requests;
      sum.prompt += charge.usage.prompt;
      sum.completion += charge.usage.completion;
      sum.cost += charge.usage.cost;
      for (const auto& [day, cost] : charge.usage.days) sum.days[day] += cost;
    }
    return absl::OkStatus();
  }

 private:
  mutable base::Mutex mutex_;
  std::vector<VirtualKey> keys_;
  std::shared_ptr<const KeySnapshot> snapshot_ =
      std::make_shared<const KeySnapshot>(std::vector<VirtualKey>());
  std::map<std::string, KeyUsage> written_;
  std::atomic<bool> fail_ = false;
};

struct World {
  explicit World(KeyLimits limits) {
    VirtualKey key;
    key.id = "k1";
    key.spec.name = std::string("k1");  // GCC 12 misjudges the assignment of a literal
    key.spec.limits = std::move(limits);
    keys.Put(std::move(key));
    gate = *MakeKeyGate(&keys, {std::chrono::hours(1)});
  }

  GateQuestion Question(std::int64_t prompt = 0, std::int64_t cost = 0) const {
    GateQuestion question;
    question.settings = &settings;
    question.now = now;
    question.wall = wall;
    question.prompt_tokens = [prompt] { return prompt; };
    question.cost = [cost] { return cost; };
    return question;
  }
  static RequestRecord Record(std::int64_t prompt, std::int64_t completion, std::int64_t cost) {
    RequestRecord record;
    AttemptRecord attempt;
    attempt.usage.emplace();
    attempt.usage->prompt = prompt;
    attempt.usage->completion = completion;
    record.attempts = {attempt};
    record.cost = cost;
    return record;
  }
  /// Every thread sends requests one after the other; how many were let in.
  int Storm(int each, const RequestRecord& record, std::int64_t prompt) {
    std::atomic<int> admitted = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < each; ++n) {
          const auto pass = gate->Arrive("k1");
          if (pass->Ask(Question(prompt)).kind != GateAnswer::Kind::kEnter) continue;
          ++admitted;
          std::this_thread::yield();
          pass->Settle(record, now, wall);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return admitted;
  }

  FakeKeys keys;
  Settings settings = Settings::Defaults();
  TimePoint now{std::chrono::hours(5)};
  WallTime wall{std::chrono::hours(24 * 20000)};
  std::unique_ptr<KeyGate> gate;
};

KeyLimits Budget(std::int64_t amount) {
  KeyLimits limits;
  limits.has_budget = true;
  limits.budget = {amount, BudgetPeriod::kMonth};
  return limits;
}

}  // namespace

TEST_CASE("decisions 7 sixty-four threads spend one budget and not a cent more") {
  World w(Budget(50 * kDollar));
  const RequestRecord record = World::Record(1, 1, kDollar);
  // What a request of the key costs is known from the first one.
  const auto first = w.gate->Arrive("k1");
  REQUIRE(first->Ask(w.Question()).kind == GateAnswer::Kind::kEnter);
  first->Settle(record, w.now, w.wall);
  CHECK(w.Storm(20, record, 0) == 49);
  CHECK(w.gate->Spent("k1", BudgetPeriod::kMonth, w.wall) == 50 * kDollar);
}

TEST_CASE("decisions 7 without a price to go by only what is in flight is overspent") {
  World w(Budget(kDollar));
  const int admitted = w.Storm(20, World::Record(1, 1, kDollar), 0);
  CHECK(admitted >= 1);
  CHECK(admitted <= kThreads);
  const auto late = w.gate->Arrive("k1");
  const GateAnswer refused = late->Ask(w.Question());
  CHECK(refused.kind == GateAnswer::Kind::kRefuse);
  CHECK(refused.code == "budget_exceeded");
  CHECK(refused.type == "insufficient_quota");
  CHECK(refused.error_kind == ErrorKind::kBudget);
}

TEST_CASE("decisions 7 sixty-four threads with cheap and dear requests overspend one of them") {
  constexpr std::int64_t kCheap = kDollar / 100;
  constexpr std::int64_t kDear = kDollar * 6 / 5;
  World w(Budget(5 * kDollar));
  for (int i = 0; i < 30; ++i) {
    const auto pass = w.gate->Arrive("k1");
    REQUIRE(pass->Ask(w.Question(0, kCheap)).kind == GateAnswer::Kind::kEnter);
    pass->Settle(World::Record(1, 1, kCheap), w.now, w.wall);
  }
  // All of them are in flight before the first one ends, and then again with those that are left.
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> asked = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      const std::int64_t cost = (i + round) % 3 == 0 ? kDear : kCheap;
      threads.emplace_back([&w, &asked, cost] {
        const auto pass = w.gate->Arrive("k1");
        const bool in = pass->Ask(w.Question(0, cost)).kind == GateAnswer::Kind::kEnter;
        ++asked;
        while (asked < kThreads) std::this_thread::yield();
        if (in) pass->Settle(World::Record(1, 1, cost), w.now, w.wall);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const std::int64_t spent = w.gate->Spent("k1", BudgetPeriod::kMonth, w.wall);
  CHECK(spent >= 5 * kDollar);
  CHECK(spent < 5 * kDollar + kDear);
}

TEST_CASE("facts o sixty-four threads cannot drain a bucket of tokens twice") {
  KeyLimits limits;
  limits.tpm = 10000;
  World w(limits);
  // A hundred each, known beforehand: a hundred and no more fit in.
  CHECK(w.Storm(20, World::Record(100, 0, 0), 100) == 100);
  CHECK(w.gate->Usage("k1").tokens() == 10000);
}

TEST_CASE("a pass that is dropped gives back what was set aside") {
  KeyLimits limits = Budget(2 * kDollar);
  limits.tpm = 100;
  World w(limits);
  const auto first = w.gate->Arrive("k1");
  REQUIRE(first->Ask(w.Question()).kind == GateAnswer::Kind::kEnter);
  first->Settle(World::Record(1, 0, kDollar), w.now, w.wall);
  for (int i = 0; i < 500; ++i) {
    const auto pass = w.gate->Arrive("k1");
    REQUIRE(pass->Ask(w.Question(99)).kind == GateAnswer::Kind::kEnter);
  }
}

TEST_CASE("facts o losers and failed probes are charged beside what was served") {
  World w({});
  RequestRecord record = World::Record(10, 5, 30);
  AttemptRecord loser = record.attempts.front();
  loser.usage->completion = 0;
  record.attempts.push_back(loser);
  record.attempts.push_back(AttemptRecord{});
  const auto pass = w.gate->Arrive("k1");
  pass->Ask(w.Question());
  pass->Settle(record, w.now, w.wall);
  pass->Settle(record, w.now, w.wall);  // once and no more
  const KeyUsage used = w.gate->Usage("k1");
  CHECK(used.requests == 1);
  CHECK(used.prompt == 20);
  CHECK(used.completion == 5);
  CHECK(used.cost == 30);
  CHECK(*used.last_used_at == w.wall);
}

TEST_CASE("what could not be written is written later, and once more at the end") {
  World w({});
  const RequestRecord record = World::Record(10, 5, 0);
  w.keys.Fail(true);
  CHECK(w.Storm(1, record, 0) == kThreads);
  CHECK_FALSE(w.gate->Flush().ok());
  CHECK(w.keys.written("k1") == 0);
  w.keys.Fail(false);
  CHECK(w.gate->Flush().ok());
  CHECK(w.keys.written("k1") == kThreads * 15);
  w.Storm(1, record, 0);
  w.gate->Close();
  CHECK(w.keys.written("k1") == 2 * kThreads * 15);
  // A gate that is opened later goes on from there.
  const auto next = MakeKeyGate(&w.keys);
  REQUIRE(next.ok());
  CHECK((*next)->Usage("k1").tokens() == 2 * kThreads * 15);
}

TEST_CASE("a key that is deleted while its request is on the way is refused") {
  World w({});
  CHECK(w.gate->Arrive("") == nullptr);
  w.keys.Clear();
  const auto pass = w.gate->Arrive("k1");
  REQUIRE(pass != nullptr);
  const GateAnswer refused = pass->Ask(w.Question());
  CHECK(refused.status == 401);
  CHECK(refused.error_kind == ErrorKind::kAuth);
}

TEST_CASE("facts o the list of models counts in the rate of a key and in nothing else") {
  KeyLimits limits = Budget(0);
  limits.rps = 1;
  limits.burst = 2;
  limits.tpm = 1;
  World w(limits);
  const auto list = [&w] {
    GateQuestion question = w.Question(1000, 1000);
    question.served = false;
    return w.gate->Arrive("k1")->Ask(question);
  };
  CHECK(list().kind == GateAnswer::Kind::kEnter);
  CHECK(list().kind == GateAnswer::Kind::kEnter);
  // It does not wait for its turn, and what is refused takes nothing.
  for (int i = 0; i < 3; ++i) {
    const GateAnswer refused = list();
    REQUIRE(refused.kind == GateAnswer::Kind::kRefuse);
    CHECK(refused.code == "rate_limit_exceeded");
    CHECK(FindHeader(refused.headers, "Retry-After") == "1");
  }
  w.now += std::chrono::seconds(1);
  CHECK(list().kind == GateAnswer::Kind::kEnter);
  CHECK(w.gate->Usage("k1").requests == 0);
}

TEST_CASE("facts o a refusal says how much there is and when to come back") {
  KeyLimits limits;
  limits.rps = 2;
  limits.burst = 1;
  World w(limits);
  w.settings.global.client_limits.max_wait_ms = 0;
  const auto first = w.gate->Arrive("k1");
  CHECK(first->Ask(w.Question()).kind == GateAnswer::Kind::kEnter);
  const auto second = w.gate->Arrive("k1");
  const GateAnswer refused = second->Ask(w.Question());
  REQUIRE(refused.kind == GateAnswer::Kind::kRefuse);
  CHECK(refused.status == 429);
  CHECK(refused.message == "rate limit exceeded");
  CHECK(refused.error_kind == ErrorKind::kRateLimit);
  CHECK(FindHeader(refused.headers, "Retry-After") == "1");
  CHECK(FindHeader(refused.headers, "X-RateLimit-Limit") == "2");
  CHECK(FindHeader(refused.headers, "X-RateLimit-Remaining") == "0");
  CHECK(FindHeader(refused.headers, "X-RateLimit-Burst") == "1");
  CHECK(FindHeader(refused.headers, "X-RateLimit-Scope") == "key");
}

}  // namespace hotel::guard
