#include "hotel/testing/fake_dispatcher.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace hotel::testing {

/// Plays one script. Every callback runs in a turn of its own, and nothing is touched after one
/// that destroyed the exchange.
class FakeDispatcher::FakeExchange : public Exchange {
 public:
  FakeExchange(FakeDispatcher* owner, SeenRequest* seen, Script script, ResponseHandler* handler)
      : owner_(owner),
        seen_(seen),
        script_(std::make_shared<const Script>(std::move(script))),
        handler_(handler) {
    ++owner_->open_;
    Later(&FakeExchange::Play);
  }

  ~FakeExchange() override {
    owner_->loop_->CancelTimer(timer_);
    if (IsOpen()) {
      seen_->cancelled = true;
      --owner_->open_;
    }
  }

  void Resume() override {
    if (!paused_) return;
    paused_ = false;
    if (IsOpen()) Later(&FakeExchange::Play);
  }

  void Cancel() override {
    if (!IsOpen()) return;
    seen_->cancelled = true;
    --owner_->open_;
    owner_->loop_->CancelTimer(timer_);
    Later(&FakeExchange::TellCancelled);
  }

 private:
  bool IsOpen() const { return !seen_->cancelled && !seen_->done; }

  void Later(void (FakeExchange::*what)()) {
    owner_->loop_->Post([this, what, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) (this->*what)();
    });
  }

  void TellCancelled() {
    ExchangeResult result;
    result.outcome = ExchangeResult::Outcome::kCancelled;
    result.phase = phase_;
    seen_->done = true;
    handler_->OnDone(result);
  }

  void Play() {
    const std::weak_ptr<int> alive = alive_;
    const auto script = script_;  // the bytes of a step outlive an exchange destroyed by them
    while (!alive.expired() && IsOpen() && !paused_ && next_ < script->steps().size()) {
      if (!PlayStep(script->steps()[next_])) return;
    }
  }

  /// Returns false when the script does not go on in this turn (the exchange may be gone then).
  bool PlayStep(const Script::Step& step) {
    switch (step.kind) {
      case Script::Step::Kind::kAfter:
        ++next_;
        timer_ = owner_->loop_->RunAt(owner_->loop_->Now() + step.delay,
                                      [this, alive = std::weak_ptr<int>(alive_)] {
                                        if (!alive.expired()) Play();
                                      });
        return false;
      case Script::Step::Kind::kHead:
        ++next_;
        phase_ = TransportPhase::kBody;
        handler_->OnHead(step.status, step.headers);
        return true;
      case Script::Step::Kind::kBytes: {
        const std::weak_ptr<int> alive = alive_;
        const Flow flow = handler_->OnBody(step.bytes);
        if (alive.expired()) return false;
        if (flow == Flow::kPause) {
          paused_ = true;
        } else {
          ++next_;
        }
        return true;
      }
      case Script::Step::Kind::kEnd:
        phase_ = TransportPhase::kBody;
        Finish({});
        return false;
      case Script::Step::Kind::kFail: {
        ExchangeResult result;
        result.outcome = ExchangeResult::Outcome::kFailed;
        result.error = step.error;
        result.detail = step.bytes;
        phase_ = step.phase;
        Finish(std::move(result));
        return false;
      }
      case Script::Step::Kind::kHang:
        return false;
    }
    return false;
  }

  void Finish(ExchangeResult result) {
    result.phase = phase_;
    seen_->done = true;
    --owner_->open_;
    handler_->OnDone(result);
  }

  FakeDispatcher* owner_;
  SeenRequest* seen_;
  const std::shared_ptr<const Script> script_;
  ResponseHandler* handler_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::size_t next_ = 0;
  bool paused_ = false;
  TransportPhase phase_ = TransportPhase::kSent;
  Loop::TimerId timer_ = 0;
};

FakeDispatcher::FakeDispatcher(Loop* loop) : loop_(loop) {}
FakeDispatcher::~FakeDispatcher() = default;

FakeDispatcher& FakeDispatcher::On(std::string url_prefix, Script script) {
  upstreams_[std::move(url_prefix)].scripts.push_back(std::move(script));
  return *this;
}

FakeDispatcher& FakeDispatcher::OnEach(std::string url_prefix,
                                       std::function<Script(const SeenRequest&)> make) {
  upstreams_[std::move(url_prefix)].make = std::move(make);
  return *this;
}

void FakeDispatcher::Clear(std::string_view url_prefix) {
  const auto it = upstreams_.find(url_prefix);
  if (it != upstreams_.end()) upstreams_.erase(it);
}

std::unique_ptr<Exchange> FakeDispatcher::Start(UpstreamRequest request, ResponseHandler* handler) {
  SeenRequest& seen = seen_.emplace_back();
  seen.body = request.body.ToString();
  seen.request = std::move(request);
  seen.at = loop_->Now();
  return std::make_unique<FakeExchange>(this, &seen, NextScript(seen), handler);
}

std::size_t FakeDispatcher::CountTo(std::string_view url_prefix) const {
  std::size_t count = 0;
  for (const SeenRequest& seen : seen_) {
    if (seen.request.url.compare(0, url_prefix.size(), url_prefix) == 0) ++count;
  }
  return count;
}

Script FakeDispatcher::NextScript(const SeenRequest& seen) {
  Upstream* found = nullptr;
  std::size_t longest = 0;
  for (auto& [prefix, upstream] : upstreams_) {
    if (prefix.size() >= longest && seen.request.url.compare(0, prefix.size(), prefix) == 0) {
      found = &upstream;
      longest = prefix.size();
    }
  }
  if (found == nullptr) return Script::Refused();
  if (found->make) return found->make(seen);
  if (found->scripts.empty()) return Script::Refused();
  if (found->scripts.size() == 1) return found->scripts.front();
  Script script = std::move(found->scripts.front());
  found->scripts.pop_front();
  return script;
}

}  // namespace hotel::testing
