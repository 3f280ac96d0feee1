// One event to several sinks.
#ifndef HOTEL_OBSERVE_FAN_OUT_H_
#define HOTEL_OBSERVE_FAN_OUT_H_

#include <vector>

#include "hotel/events.h"

namespace hotel::observe {

/// Passes every event to each sink in order, on the calling thread. The list is fixed, so no lock
/// is needed and none is held during the calls; thread-safe as the sinks are.
class FanOut : public EventSink {
 public:
  /// The sinks must outlive this object; null ones are left out.
  explicit FanOut(const std::vector<EventSink*>& sinks);

  void OnEvent(const Event& event) override;
  void OnNote(const LogNote& note) override;

 private:
  std::vector<EventSink*> sinks_;
};

}  // namespace hotel::observe

#endif  // HOTEL_OBSERVE_FAN_OUT_H_
