#include "hotel/router.h"

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/status/statusor.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/random.h"
#include "libhotel/route/call.h"
#include "libhotel/route/listing.h"
#include "libhotel/route/resolver.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/multipart.h"
#include "libhotel/wire/request.h"

namespace hotel {
namespace {

using route::CallState;

/// How long an exchange whose answer is complete may take to end by itself, so that its connection
/// can be used again; then it is closed (decisions, 5: an upstream held open behind `[DONE]`).
constexpr Duration kLinger = std::chrono::seconds(1);

/// What routing must know of the request. A passthrough is not read: its name is the provider's.
absl::StatusOr<wire::RequestPeek> Peek(const RouteRequest& request) {
  switch (wire::RowOf(request.endpoint).body) {
    case wire::BodyForm::kJson:
      return wire::PeekRequest(*request.body);
    case wire::BodyForm::kMultipart:
      return wire::PeekMultipart(request.content_type, *request.body);
    case wire::BodyForm::kAny:
      break;
  }
  wire::RequestPeek peek;
  peek.model = request.passthrough.provider;
  return peek;
}

bool IsUsableRequestId(const std::string& id) {
  if (id.empty() || id.size() > 128) return false;
  for (const char c : id) {
    if (c <= 0x20 || c >= 0x7f) return false;
  }
  return true;
}

/// The running calls. Lives on the loop thread apart from the atomics; tasks hold it weakly, so
/// that none touches it after the router is gone.
class CallTable : public std::enable_shared_from_this<CallTable> {
 public:
  CallTable(Loop* loop, Duration report_running_after, bool logged)
      : loop_(loop), report_running_after_(report_running_after), logged_(logged) {}

  std::uint64_t NextId() noexcept { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  std::size_t active() const noexcept { return active_.load(std::memory_order_relaxed); }
  void CountStart() noexcept { active_.fetch_add(1, std::memory_order_relaxed); }

  void Begin(std::uint64_t id, std::shared_ptr<CallState> call) {
    calls_.emplace(id, call);
    if (ending_) {
      call->RefuseShutdown();
    } else {
      if (logged_ && look_ == 0) LookLater();
      call->Begin();
    }
  }

  /// Called by a call when it finishes and when it becomes idle, perhaps from inside a callback of
  /// one of its exchanges: so it is dropped in a later turn.
  void Changed(std::uint64_t id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    Entry& entry = found->second;
    if (!entry.counted_out) {
      entry.counted_out = true;
      active_.fetch_sub(1, std::memory_order_relaxed);
      if (!entry.call->idle()) {
        loop_->RunAt(loop_->Now() + kLinger, Drop(id));
        return;
      }
    }
    if (entry.call->idle()) loop_->Post(Drop(id));
  }

  void EndAll() {
    ending_ = true;
    std::vector<std::shared_ptr<CallState>> running;
    for (const auto& [id, entry] : calls_) running.push_back(entry.call);
    for (const auto& call : running) call->Shutdown();
  }

 private:
  struct Entry {
    explicit Entry(std::shared_ptr<CallState> c) : call(std::move(c)) {}
    std::shared_ptr<CallState> call;
    bool counted_out = false;
  };

  Loop::Task Drop(std::uint64_t id) {
    return [weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->Forget(id);
    };
  }

  void Forget(std::uint64_t id) {
    calls_.erase(id);
    if (!calls_.empty() || look_ == 0) return;
    loop_->CancelTimer(look_);
    look_ = 0;
  }

  /// Who runs for a while is looked for now and then, all at once: a request that ends soon, as
  /// nearly every one does, pays nothing for it.
  void LookLater() {
    look_ = loop_->RunAt(loop_->Now() + report_running_after_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Look();
    });
  }

  void Look() {
    const TimePoint arrived = loop_->Now() - report_running_after_;
    for (const auto& [id, entry] : calls_) entry.call->ReportRunning(arrived);
    LookLater();
  }

  Loop* loop_;
  const Duration report_running_after_;
  const bool logged_;
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::size_t> active_{0};
  std::unordered_map<std::uint64_t, Entry> calls_;
  bool ending_ = false;
  Loop::TimerId look_ = 0;  // while there are calls, and a log
};

class CallHandle final : public Call {
 public:
  CallHandle(Loop* loop, const std::shared_ptr<CallState>& call)
      : loop_(loop), call_(call), finished_(call->finished_flag()), id_(call->request_id()) {}
  ~CallHandle() override { Cancel(); }

  void Resume() override {
    Post([](CallState& call) { call.Resume(); });
  }
  void Cancel() override {
    Post([](CallState& call) { call.ClientGone(); });
  }
  const std::string& request_id() const noexcept override { return id_; }

 private:
  /// The call is never locked off its loop: it must die there.
  template <typename F>
  void Post(F what) {
    if (finished_->load(std::memory_order_acquire)) return;
    loop_->Post([weak = call_, what] {
      if (const auto call = weak.lock()) what(*call);
    });
  }

  Loop* loop_;
  std::weak_ptr<CallState> call_;
  std::shared_ptr<const std::atomic<bool>> finished_;
  std::string id_;
};

class StandardRouter final : public Router {
 public:
  explicit StandardRouter(const RouterDeps& deps)
      : parts_(std::make_shared<route::RouterParts>(deps)),
        deps_(parts_->deps),
        table_(std::make_shared<CallTable>(deps.loop, deps.report_running_after,
                                           deps.log != nullptr)) {}

  std::unique_ptr<Call> Start(RouteRequest request, std::shared_ptr<StreamSink> sink) override {
    if (!IsUsableRequestId(request.request_id)) request.request_id = base::NewRequestId();
    // Read on the caller's thread: a large body must not hold up the loop.
    if (request.body == nullptr) request.body = std::make_shared<const std::string>();
    const TimePoint arrival = deps_.clock->Now();
    auto peek = Peek(request);
    const std::uint64_t id = table_->NextId();
    std::uint64_t seed = deps_.seed + id;
    auto call = std::make_shared<CallState>(parts_, std::move(request), std::move(peek),
                                            std::move(sink), arrival, base::NextRandom(&seed),
                                            [weak = std::weak_ptr<CallTable>(table_), id] {
                                              if (const auto table = weak.lock())
                                                table->Changed(id);
                                            });
    table_->CountStart();
    auto handle = std::make_unique<CallHandle>(deps_.loop, call);
    deps_.loop->Post(
        [weak = std::weak_ptr<CallTable>(table_), id, call = std::move(call)]() mutable {
          if (const auto table = weak.lock()) table->Begin(id, std::move(call));
        });
    return handle;
  }

  std::vector<ModelListing> Models(const std::vector<std::string>* allowed) const override {
    return route::ListModels(*deps_.groups->Snapshot(), parts_->virtuals, deps_.inventory, allowed);
  }

  std::size_t active_calls() const noexcept override { return table_->active(); }

  void EndAll() override {
    deps_.loop->Post([weak = std::weak_ptr<CallTable>(table_)] {
      if (const auto table = weak.lock()) table->EndAll();
    });
  }

 private:
  std::shared_ptr<route::RouterParts> parts_;
  const RouterDeps& deps_;  // of parts_
  std::shared_ptr<CallTable> table_;
};

}  // namespace

std::unique_ptr<Router> MakeRouter(const RouterDeps& deps) {
  return std::make_unique<StandardRouter>(deps);
}

}  // namespace hotel
