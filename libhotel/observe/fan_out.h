// One event or record to several sinks.
#ifndef HOTEL_OBSERVE_FAN_OUT_H_
#define HOTEL_OBSERVE_FAN_OUT_H_

#include <string_view>
#include <vector>

#include "hotel/events.h"
#include "hotel/request_log.h"

namespace hotel::observe {

/// Passes every event to each sink in order, on the calling thread. The list is fixed, so no lock
/// is needed and none is held during the calls; thread-safe as the sinks are.
class FanOut : public EventSink {
 public:
  /// The sinks must outlive this object; null ones are left out.
  explicit FanOut(const std::vector<EventSink*>& sinks);

  void OnEvent(const Event& event) override;
  void OnNote(const LogNote& note) override;
  /// When one of the sinks does.
  bool WantsDebug(std::string_view source) const noexcept override;

 private:
  std::vector<EventSink*> sinks_;
};

/// The same for records.
class LogFanOut : public RequestLog {
 public:
  explicit LogFanOut(const std::vector<RequestLog*>& logs);

  void Running(const RequestRecord& record) override;
  void Record(const RequestRecord& record) override;

 private:
  std::vector<RequestLog*> logs_;
};

}  // namespace hotel::observe

#endif  // HOTEL_OBSERVE_FAN_OUT_H_
