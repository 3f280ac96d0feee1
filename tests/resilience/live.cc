#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>
#include <variant>

#include "hotel/defaults.h"

#include "libhotel/base/random.h"
#include "libhotel/decide/attempt_machine.h"
#include "libhotel/route/refusal_reader.h"
#include "tests/resilience/days.h"

namespace hotel::resilience {
namespace {

const TimePoint kStart{std::chrono::hours(1)};
const WallTime kWallStart{std::chrono::hours(24 * 365 * 56)};

class World {
 public:
  World(const Day& day, const EngineSettings& settings, std::uint64_t seed)
      : day_(day), random_(seed) {
    Settings all;
    all.global = settings;
    source_ = MakeFixedSettings(std::move(all));
    settings_ = source_->Current();
    CircuitBreakerOptions options;
    options.seed = seed;
    breaker_ = MakeCircuitBreaker(source_.get(), nullptr, options);
    limiter_ = MakeInflightLimiter(source_.get());
    classifier_ = MakeRateLimitClassifier();
    for (const ProviderModel& model : day.providers) {
      auto provider = std::make_shared<Provider>();
      provider->id = provider->name = provider->routing_name = model.name;
      provider->type = "openai";
      candidates_.push_back({std::move(provider), "m", &settings_->global});
    }
    serving_.resize(day.providers.size());
  }

  Outcome Run() {
    At(kStart, [this] { Arrive(); });
    while (!agenda_.empty()) {
      // The task may add to the agenda.
      Entry next = agenda_.top();
      agenda_.pop();
      Advance(next.at);
      next.task();
    }
    if (outcome_.requests > 0) {
      outcome_.mean = total_wait_ / static_cast<Duration::rep>(outcome_.requests);
    }
    const auto seconds = std::chrono::duration<double>(now_ - kStart).count();
    if (seconds > 0) outcome_.busy_first = busy_seconds_ / seconds;
    return outcome_;
  }

 private:
  struct Request {
    explicit Request(decide::Plan plan) : machine(std::move(plan)) {}
    struct Attempt {
      Permit permit;
      InflightSlot slot;
      int candidate = 0;
      int try_number = 0;
    };
    decide::AttemptMachine machine;
    std::vector<Attempt> attempts;
    TimePoint arrival{};
    std::optional<TimePoint> wake;
    SlotWait wait;
    std::vector<int> wait_for;
    std::uint64_t seniority = 0;
    InflightSlot held;
  };
  using RequestPtr = std::shared_ptr<Request>;

  struct Entry {
    TimePoint at;
    std::uint64_t order;
    std::function<void()> task;
    bool operator<(const Entry& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };

  void At(TimePoint at, std::function<void()> task) {
    agenda_.push({std::max(at, now_), order_++, std::move(task)});
  }

  void Advance(TimePoint at) {
    busy_seconds_ += std::chrono::duration<double>(at - now_).count() * serving_[0];
    now_ = at;
  }

  double Dice() {
    constexpr std::uint64_t kSteps = std::uint64_t{1} << 32;
    return static_cast<double>(base::RandomBelow(&random_, kSteps)) / kSteps;
  }

  void Trace(std::uint64_t value) {
    outcome_.trace = (outcome_.trace ^ value) * 1099511628211u +
                     static_cast<std::uint64_t>(now_.time_since_epoch().count());
  }

  // As route::Resolve and route::CallState do it.
  void Arrive() {
    if (now_ - kStart >= day_.length) return;
    const auto spread = 0.5 + Dice();
    At(now_ +
           Duration(static_cast<Duration::rep>(static_cast<double>(day_.spacing.count()) * spread)),
       [this] { Arrive(); });

    ++outcome_.requests;
    decide::Plan plan;
    plan.settings = &settings_->global;
    plan.arrival = now_;
    plan.seed = base::NextRandom(&random_);
    std::vector<int> order;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (const auto block = breaker_->Blocked(candidates_[i].circuit(), now_)) {
        ++plan.skipped_open;
        plan.skipped_pinned += block->pinned;
        if (!plan.earliest_retry || block->until < *plan.earliest_retry) {
          plan.earliest_retry = block->until;
        }
        continue;
      }
      order.push_back(static_cast<int>(i));
      plan.candidates.push_back({candidates_[i].settings});
    }
    auto request = std::make_shared<Request>(std::move(plan));
    request->arrival = now_;
    orders_[request.get()] = std::move(order);
    Drive(request, decide::Begin{});
  }

  void Drive(const RequestPtr& request, decide::Event event) {
    std::queue<decide::Event> events;
    events.push(std::move(event));
    while (!events.empty()) {
      std::vector<decide::Action> actions;
      request->machine.Handle(events.front(), now_, &actions);
      events.pop();
      for (const decide::Action& action : actions) {
        std::visit([&](const auto& a) { Do(request, a, &events); }, action);
      }
    }
    const auto wake = request->machine.next_wake();
    if (wake && (!request->wake || *wake < *request->wake)) {
      request->wake = wake;
      At(*wake, [this, request] {
        request->wake.reset();
        if (!request->machine.finished()) Drive(request, decide::Wake{});
      });
    }
  }

  using Events = std::queue<decide::Event>;

  const route::Candidate& CandidateOf(const RequestPtr& request, int index) const {
    const auto at = static_cast<std::size_t>(orders_.at(request.get())[Index(index)]);
    return candidates_[at];
  }
  static std::size_t Index(int index) { return static_cast<std::size_t>(index); }

  void Do(const RequestPtr& request, const decide::AskAdmission& ask, Events* events) {
    request->wait = {};
    if (request->attempts.size() <= Index(ask.attempt))
      request->attempts.resize(Index(ask.attempt) + 1);
    Request::Attempt& attempt = request->attempts[Index(ask.attempt)];
    attempt = {};
    attempt.candidate = ask.candidate;
    const route::Candidate& candidate = CandidateOf(request, ask.candidate);
    using Why = decide::Refused::Why;
    Admission admission = breaker_->TryAcquire(candidate.circuit(), now_);
    if (!admission.admitted()) {
      const bool capacity = admission.refusal == Refusal::kCapacity;
      return events->push(decide::Refused{ask.attempt, admission.retry_at,
                                          capacity ? Why::kCapacity : Why::kCircuit,
                                          admission.pinned});
    }
    attempt.permit = std::move(admission.permit);
    attempt.slot = request->held.valid() ? std::move(request->held)
                                         : limiter_->TryAcquire(candidate.inflight(), now_);
    if (!attempt.slot.valid()) {
      attempt = {};
      return events->push(decide::Refused{ask.attempt, now_, Why::kBusy});
    }
    events->push(decide::Admitted{ask.attempt, attempt.permit.probe()});
  }

  void Do(const RequestPtr& request, const decide::StartAttempt& start, Events*) {
    Request::Attempt& attempt = request->attempts[Index(start.attempt)];
    const int number = ++attempt.try_number;
    const int provider = orders_.at(request.get())[Index(start.candidate)];
    ++outcome_.calls;
    int& serving = serving_[Index(provider)];
    ++serving;
    if (provider == 0) outcome_.peak_first = std::max(outcome_.peak_first, serving);
    const Reply reply = day_.providers[Index(provider)].serve(now_ - kStart, serving, Dice());
    Trace(static_cast<std::uint64_t>(provider * 1000 + reply.status));
    At(now_ + reply.latency, [this, request, start, number, provider, reply] {
      --serving_[Index(provider)];
      const auto index = Index(start.attempt);
      if (request->machine.finished() || request->attempts[index].try_number != number) return;
      if (reply.status >= 300) ++outcome_.wasted;
      Drive(request, decide::Ended{start.attempt, End(request, start.candidate, reply)});
    });
  }

  decide::AttemptEnd End(const RequestPtr& request, int candidate, const Reply& reply) {
    decide::AttemptEnd end;
    end.status = reply.status;
    if (reply.status < 300) return end;
    end.kind = decide::AttemptEnd::Kind::kHttpError;
    HeaderList headers;
    if (!reply.retry_after.empty()) headers.push_back({"retry-after", reply.retry_after});
    const WallTime wall =
        kWallStart + std::chrono::duration_cast<std::chrono::milliseconds>(now_ - kStart);
    route::ReadRefusal(*classifier_, *breaker_, CandidateOf(request, candidate),
                       {&headers, reply.body, wall}, now_, &end);
    return end;
  }

  // The provider goes on serving what nobody waits for any more: a call that was paid for nothing.
  void Do(const RequestPtr& request, const decide::CancelAttempt& cancel, Events*) {
    ++request->attempts[Index(cancel.attempt)].try_number;
    ++outcome_.wasted;
  }
  void Do(const RequestPtr&, const decide::Commit&, Events*) {}
  void Do(const RequestPtr&, const decide::SettleCircuit&, Events*) {}

  void Do(const RequestPtr& request, const decide::ReportVerdict& verdict, Events*) {
    Request::Attempt& attempt = request->attempts[Index(verdict.attempt)];
    attempt.permit.Report(verdict.report, now_);
    if (verdict.cut) {
      attempt.slot.EndSaturated(*verdict.cut, now_);
    } else {
      attempt.slot.End(verdict.clean ? SlotEnd::kClean : SlotEnd::kUnclean, now_);
    }
  }

  void Do(const RequestPtr& request, const decide::WaitForSlot& wait, Events* events) {
    std::vector<InflightTarget> targets;
    for (const int candidate : wait.candidates) {
      targets.push_back(CandidateOf(request, candidate).inflight());
    }
    request->wait_for = wait.candidates;
    request->wait = limiter_->Wait(
        targets, now_,
        [this, weak = std::weak_ptr<Request>(request)] {
          At(now_, [this, weak] {
            const RequestPtr waiting = weak.lock();
            if (waiting == nullptr || !waiting->wait.valid()) return;
            if (const auto event = TakeSlot(waiting)) Drive(waiting, *event);
          });
        },
        request->seniority);
    request->seniority = request->wait.seniority();
    if (request->wait.ready()) {
      if (const auto event = TakeSlot(request)) events->push(*event);
    }
  }

  std::optional<decide::Event> TakeSlot(const RequestPtr& request) {
    std::size_t target = 0;
    InflightSlot slot = request->wait.Take(&target);
    if (!slot.valid()) return std::nullopt;
    request->held = std::move(slot);
    return decide::SlotFree{request->wait_for[target]};
  }

  void Do(const RequestPtr& request, const decide::Finish& finish, Events*) {
    request->wait = {};
    if (request->held.valid()) request->held.End(SlotEnd::kUnused, now_);
    const Duration waited = now_ - request->arrival;
    total_wait_ += waited;
    outcome_.worst = std::max(outcome_.worst, waited);
    Trace(static_cast<std::uint64_t>(finish.how) * 100 + static_cast<std::uint64_t>(finish.status));
    if (finish.how != decide::Finish::How::kServed) {
      ++outcome_.failed;
    } else {
      const auto& attempt = request->attempts[Index(finish.attempt)];
      if (orders_.at(request.get())[Index(attempt.candidate)] == 0) {
        ++outcome_.by_first;
        if (day_.repaired_at && !outcome_.recovery && now_ - kStart >= *day_.repaired_at) {
          outcome_.recovery = now_ - kStart - *day_.repaired_at;
        }
      }
    }
    orders_.erase(request.get());
  }

  const Day& day_;
  std::uint64_t random_;
  TimePoint now_ = kStart;
  std::unique_ptr<SettingsSource> source_;
  std::shared_ptr<const Settings> settings_;
  std::unique_ptr<CircuitBreaker> breaker_;
  std::unique_ptr<InflightLimiter> limiter_;
  std::unique_ptr<RateLimitClassifier> classifier_;
  std::vector<route::Candidate> candidates_;
  std::vector<int> serving_;
  std::priority_queue<Entry> agenda_;
  std::uint64_t order_ = 0;
  // The candidate list of every running request, as indices of providers.
  std::map<const Request*, std::vector<int>> orders_;
  Duration total_wait_{};
  double busy_seconds_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome Live(const Day& day, const EngineSettings& settings, std::uint64_t seed) {
  return World(day, settings, seed).Run();
}

}  // namespace hotel::resilience
