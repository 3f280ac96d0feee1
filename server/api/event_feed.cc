#include "server/api/event_feed.h"

#include <charconv>
#include <future>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"

namespace hotel::server::api {
namespace {

const char* SeverityName(Event::Severity severity) {
  switch (severity) {
    case Event::Severity::kInfo:
      return "info";
    case Event::Severity::kSuccess:
      return "success";
    case Event::Severity::kWarning:
      return "warning";
  }
  return "";
}

Json EventJson(const Event& event, const std::string& id) {
  Json json;
  json["id"] = id;
  json["type"] = event.type;
  json["severity"] = SeverityName(event.severity);
  json["source"] = event.source;
  json["message"] = event.message;
  json["metadata"] = Json::object();
  for (const auto& [name, value] : event.metadata) {
    std::visit([&, key = name](const auto& each) { json["metadata"][key] = each; }, value);
  }
  json["timestamp"] =
      Time(std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now()));
  return json;
}

}  // namespace

EventFeed::EventFeed() : run_(base::NewRequestId()) {}

void EventFeed::OnEvent(const Event& event) {
  base::MutexLock lock(&mutex_);
  const std::uint64_t number = next_number_++;
  const std::string id = fmt::format("{}-{}", run_, number);
  kept_.push_back({number, fmt::format("id: {}\ndata: {}\n\n", id,
                                       EventJson(event, id).dump(-1, ' ', false,
                                                                 Json::error_handler_t::replace))});
  if (kept_.size() > kKept) kept_.pop_front();
  // One task for however many events come before it runs.
  if (loop_ == nullptr || std::exchange(woken_, true)) return;
  loop_->Post([this] { PumpAll(); });
}

void EventFeed::Listen(std::string_view last_id, std::shared_ptr<Responder> responder) {
  if (closed_ || listeners_.size() >= kMostListeners) {
    const Reply reply =
        Refusal(503, closed_ ? "the sidecar is stopping" : "too many listeners; close one of them");
    responder->Begin(reply.status, reply.headers, false);
    responder->Write(reply.body);
    return responder->End();
  }
  Listener listener;
  listener.responder = std::move(responder);
  {
    base::MutexLock lock(&mutex_);
    listener.next = next_number_;
    if (!last_id.empty()) {
      listener.next = 1;
      const std::size_t dash = last_id.rfind('-');
      std::uint64_t number = 0;
      const char* const end = last_id.data() + last_id.size();
      if (dash != std::string_view::npos && last_id.substr(0, dash) == run_ &&
          std::from_chars(last_id.data() + dash + 1, end, number).ec == std::errc() &&
          number < next_number_) {
        listener.next = number + 1;
      }
    }
  }
  const std::uint64_t before = listener.next - 1;
  const std::uint64_t key = next_listener_++;
  const std::shared_ptr<Responder> to = listener.responder;
  listeners_.emplace(key, std::move(listener));
  to->Begin(200,
            {{"content-type", "text/event-stream"},
             {"cache-control", "no-cache"},
             {"X-Accel-Buffering", "no"}},
            true);
  to->Watch(
      [this, key] {
        const auto it = listeners_.find(key);
        if (it == listeners_.end()) return;
        it->second.paused = false;
        Pump(key);
      },
      [this, key] { listeners_.erase(key); });
  // With the id of the last event it will not get: who comes back before the next one happened
  // knows where to go on, too.
  Write(key, fmt::format(": connected\nid: {}-{}\n\n", run_, before));
  Pump(key);
  if (heartbeat_ == 0) ArmHeartbeat();
}

void EventFeed::Write(std::uint64_t key, std::string_view bytes) {
  auto it = listeners_.find(key);
  if (it == listeners_.end()) return;
  const std::shared_ptr<Responder> responder = it->second.responder;
  const bool full = responder->Write(bytes) == Flow::kPause;
  it = listeners_.find(key);
  if (it != listeners_.end()) it->second.paused = full;
}

void EventFeed::Pump(std::uint64_t key) {
  for (;;) {
    const auto it = listeners_.find(key);
    if (it == listeners_.end() || it->second.paused) return;
    std::string frames;
    {
      base::MutexLock lock(&mutex_);
      for (const Kept& kept : kept_) {
        if (kept.number < it->second.next) continue;
        frames += kept.frame;
        it->second.next = kept.number + 1;
      }
    }
    if (frames.empty()) return;
    Write(key, frames);
  }
}

void EventFeed::PumpAll() {
  {
    base::MutexLock lock(&mutex_);
    woken_ = false;
  }
  std::vector<std::uint64_t> keys;
  for (const auto& [key, listener] : listeners_) keys.push_back(key);
  for (const std::uint64_t key : keys) Pump(key);
}

void EventFeed::ArmHeartbeat() {
  heartbeat_ = loop_->RunAt(loop_->Now() + kHeartbeat, [this] { Beat(); });
}

void EventFeed::Beat() {
  heartbeat_ = 0;
  if (listeners_.empty()) return;
  std::vector<std::uint64_t> keys;
  for (const auto& [key, listener] : listeners_) {
    if (!listener.paused) keys.push_back(key);
  }
  for (const std::uint64_t key : keys) Write(key, ": heartbeat\n\n");
  ArmHeartbeat();
}

std::vector<Route> EventRoutes() {
  std::vector<Route> routes;
  Route events;
  events.method = "GET";
  events.pattern = "/api/events";
  events.summary =
      "Listen to events as they happen (server-sent events); with `Last-Event-ID` from behind that "
      "event, if it is kept";
  events.streams = true;
  events.answer =
      "`: connected` with an `id:` to come back with, then `data:` lines with `id`, `type`, "
      "`severity`, `source`, `message`, `metadata`, `timestamp`; "
      "a "
      "comment every 30 seconds";
  routes.push_back(std::move(events));
  return routes;
}

void EventFeed::Close() {
  std::promise<void> done;
  loop_->Post([this, &done] {
    closed_ = true;
    loop_->CancelTimer(heartbeat_);
    heartbeat_ = 0;
    for (auto& [key, listener] : std::exchange(listeners_, {})) listener.responder->End();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace hotel::server::api
