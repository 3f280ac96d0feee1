#include "server/readiness.h"

#include <nlohmann/json.hpp>

namespace hotel::server {
namespace {

using Json = nlohmann::ordered_json;

Reply Answer(const char* status, Json components) {
  const Json body = {{"status", status}, {"components", std::move(components)}};
  const bool ready = std::string_view(status) != "not_ready";
  Reply reply{ready ? 200 : 503,
              {{"content-type", "application/json"}, {"cache-control", "no-store"}},
              body.dump()};
  if (!ready) reply.headers.push_back({"Retry-After", "1"});
  return reply;
}

}  // namespace

Reply Readiness::Check(Phase phase) {
  Json components;
  if (phase != Phase::kServing) {
    components["router"]["status"] = phase == Phase::kStarting ? "starting" : "stopping";
    return Answer("not_ready", std::move(components));
  }
  components["router"]["status"] = "up";
  const auto storage = CheckStorage();
  const bool stored = storage && storage->ok();
  // Who may ask is nobody's business here, so the reason is in the log and not in the answer.
  components["storage"]["status"] = stored ? "up" : "down";
  if (!stored) components["storage"]["error"] = storage ? "cannot be read" : "does not answer";
  bool degraded = false;
  if (log_ != nullptr) {
    const LogCounts counts = log_->counts();
    degraded = counts.failing;
    components["request_log"]["status"] = counts.failing ? "degraded" : "up";
    components["request_log"]["waiting"] = counts.waiting;
    components["request_log"]["lost"] = counts.lost;
  }
  if (!stored) return Answer("not_ready", std::move(components));
  return Answer(degraded ? "degraded" : "ready", std::move(components));
}

std::optional<absl::Status> Readiness::CheckStorage() {
  base::MutexLock lock(&mutex_);
  if (!running_since_) {
    running_since_ = std::chrono::steady_clock::now();
    worker_.Run([this] { Run(); });
  }
  const std::uint64_t before = checks_;
  const TimePoint until = *running_since_ + kLimit;
  while (checks_ == before) {
    if (checked_.wait_until(lock.native(), until) == std::cv_status::timeout) {
      return checks_ == before ? std::nullopt : std::optional(last_);
    }
  }
  return last_;
}

void Readiness::Run() {
  const absl::Status status = storage_();
  bool news;
  {
    base::MutexLock lock(&mutex_);
    running_since_.reset();
    ++checks_;
    last_ = status;
    news = failing_ == status.ok();
    failing_ = !status.ok();
    checked_.notify_all();
  }
  if (news) tell_(status);
}

}  // namespace hotel::server
