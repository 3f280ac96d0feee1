// Sinks that remember what they were told.
#ifndef HOTEL_TESTING_RECORDERS_H_
#define HOTEL_TESTING_RECORDERS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/events.h"
#include "hotel/request_log.h"
#include "hotel/router.h"

namespace hotel::testing {

/// A client: keeps the answer, checks the order of the callbacks, can ask for pauses. A broken
/// order is noted in `violations`, so that a test fails on it wherever it happened.
class RecordingSink : public StreamSink {
 public:
  void OnHead(const AnswerHead& head) override;
  Flow OnBody(std::string_view bytes) override;
  void OnEnd(const AnswerEnd& end) override;

  bool has_head = false;
  AnswerHead head;
  std::string body;
  std::vector<std::string> chunks;
  bool ended = false;
  AnswerEnd end;
  std::vector<std::string> violations;
  /// Ask for a pause after this many chunks; 0 = never.
  std::size_t pause_after = 0;

  /// The first answer header called `name`, or "".
  std::string header(std::string_view name) const;
};

class RecordingEvents : public EventSink {
 public:
  void OnEvent(const Event& event) override { events.push_back(event); }
  void OnNote(const LogNote& note) override { (note.debug ? debug : notes).push_back(note); }
  bool WantsDebug(std::string_view) const noexcept override { return wants_debug; }
  std::vector<Event> events;
  std::vector<LogNote> notes;
  std::vector<LogNote> debug;  ///< the notes with `debug`
  bool wants_debug = false;
};

class RecordingLog : public RequestLog {
 public:
  void Running(const RequestRecord& record) override { running.push_back(record); }
  void Record(const RequestRecord& record) override { records.push_back(record); }
  std::vector<RequestRecord> running;
  std::vector<RequestRecord> records;
};

}  // namespace hotel::testing

#endif  // HOTEL_TESTING_RECORDERS_H_
