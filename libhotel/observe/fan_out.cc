#include "libhotel/observe/fan_out.h"

#include <algorithm>

namespace hotel::observe {

FanOut::FanOut(const std::vector<EventSink*>& sinks) {
  for (EventSink* sink : sinks) {
    if (sink != nullptr) sinks_.push_back(sink);
  }
}

void FanOut::OnEvent(const Event& event) {
  for (EventSink* sink : sinks_) sink->OnEvent(event);
}

void FanOut::OnNote(const LogNote& note) {
  for (EventSink* sink : sinks_) sink->OnNote(note);
}

bool FanOut::WantsDebug(std::string_view source) const noexcept {
  return std::any_of(sinks_.begin(), sinks_.end(),
                     [source](const EventSink* sink) { return sink->WantsDebug(source); });
}

LogFanOut::LogFanOut(const std::vector<RequestLog*>& logs) {
  for (RequestLog* log : logs) {
    if (log != nullptr) logs_.push_back(log);
  }
}

void LogFanOut::Running(const RequestRecord& record) {
  for (RequestLog* log : logs_) log->Running(record);
}

void LogFanOut::Record(const RequestRecord& record) {
  for (RequestLog* log : logs_) log->Record(record);
}

}  // namespace hotel::observe
