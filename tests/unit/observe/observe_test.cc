#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "hotel/events.h"
#include "hotel/request_log.h"

#include "libhotel/observe/event_text.h"
#include "libhotel/observe/fan_out.h"
#include "libhotel/observe/logfmt.h"
#include "tests/support/catch.h"

namespace {

using namespace hotel;
using namespace hotel::observe;
using std::chrono::milliseconds;

// Notes which sink saw which event.
class NamedSink : public EventSink {
 public:
  NamedSink(std::string name, std::vector<std::string>* seen)
      : name_(std::move(name)), seen_(seen) {}
  void OnEvent(const Event& event) override { seen_->push_back(name_ + ":" + event.type); }
  void OnNote(const LogNote& note) override { seen_->push_back(name_ + ":" + note.message); }

 private:
  std::string name_;
  std::vector<std::string>* seen_;
};

TEST_CASE("Every sink gets every event, in order; null sinks are left out") {
  std::vector<std::string> seen;
  NamedSink a("a", &seen);
  NamedSink b("b", &seen);
  FanOut fan_out({&a, nullptr, &b});
  Event event;
  event.type = "x";
  fan_out.OnEvent(event);
  event.type = "y";
  fan_out.OnEvent(event);
  CHECK(seen == std::vector<std::string>{"a:x", "b:x", "a:y", "b:y"});
  FanOut({}).OnEvent(event);
  CHECK(seen.size() == 4);
}

TEST_CASE("Every sink gets every note") {
  std::vector<std::string> seen;
  NamedSink a("a", &seen);
  NamedSink b("b", &seen);
  FanOut fan_out({&a, nullptr, &b});
  LogNote note;
  note.message = "n";
  fan_out.OnNote(note);
  CHECK(seen == std::vector<std::string>{"a:n", "b:n"});
}

// Wants debug notes of one source.
class CuriousSink : public EventSink {
 public:
  explicit CuriousSink(std::string source) : source_(std::move(source)) {}
  void OnEvent(const Event&) override {}
  bool WantsDebug(std::string_view source) const noexcept override { return source == source_; }

 private:
  std::string source_;
};

TEST_CASE("Debug notes are wanted when one sink wants them") {
  std::vector<std::string> seen;
  NamedSink plain("a", &seen);
  CuriousSink curious("resolve");
  CHECK_FALSE(FanOut({&plain}).WantsDebug("resolve"));
  FanOut fan_out({&plain, &curious});
  CHECK(fan_out.WantsDebug("resolve"));
  CHECK_FALSE(fan_out.WantsDebug("proxy"));
}

TEST_CASE("A note line carries what it has, attributes in order") {
  LogNote note;
  note.severity = Event::Severity::kWarning;
  note.source = "failover";
  note.event = "circuit_breaker.open";
  note.message = "circuit-breaker: model state=closed→open";
  note.attributes = {{"provider", std::string("acme")},
                     {"cooldown_ms", std::int64_t{60000}},
                     {"quota_pinned", false},
                     {"model", std::string("m")}};
  CHECK(NoteLine(note) ==
        "event=circuit_breaker.open severity=warning source=failover "
        "message=\"circuit-breaker: model state=closed→open\" provider=acme cooldown_ms=60000 "
        "quota_pinned=false model=m");
  note.event.clear();
  note.severity = Event::Severity::kInfo;
  note.attributes.clear();
  CHECK(NoteLine(note) ==
        "severity=info source=failover message=\"circuit-breaker: model state=closed→open\"");
}

TEST_CASE("A value is quoted when it must be, and a line stays a line") {
  CHECK(LogLine().Text("a", "plain-1.0/x").text() == "a=plain-1.0/x");
  CHECK(LogLine().Text("a", "two words").text() == "a=\"two words\"");
  CHECK(LogLine().Text("a", "").text() == "a=\"\"");
  CHECK(LogLine().Text("a", "q\"b\\s").text() == "a=\"q\\\"b\\\\s\"");
  CHECK(LogLine().Text("a", "x=y").text() == "a=\"x=y\"");
  CHECK(LogLine().Text("a", "l1\nl2\r\x01").text() == "a=\"l1\\nl2\\x0d\\x01\"");
  CHECK(LogLine().Number("n", -5).Flag("b", true).text() == "n=-5 b=true");
}

TEST_CASE("Keys are masked and long values cut") {
  CHECK(LogLine().Text("a", "sk-abcdefgh12345678").text() == "a=[REDACTED]");
  const std::string line = LogLine().Text("a", std::string(100000, 'x')).text();
  CHECK(line.size() == 2 + LogLine::kMaxValue);
  // A key that straddles the cut is masked, not shortened to a shape that is not recognised.
  const std::string straddling = std::string(LogLine::kMaxValue - 6, ' ') + "sk-abcdefgh12345678";
  CHECK(LogLine().Text("a", straddling).text().find("sk-") == std::string::npos);
}

TEST_CASE("An event line carries type, severity, source, message and metadata in order") {
  Event event;
  event.type = "circuit_breaker.open";
  event.severity = Event::Severity::kWarning;
  event.source = "failover";
  event.message = "Circuit of acme/glm-4.6 opened";
  event.metadata = {
      {"provider", std::string("acme")}, {"consecutive_fails", std::int64_t{5}}, {"probe", false}};
  CHECK(EventLine(event) ==
        "event=circuit_breaker.open severity=warning source=failover "
        "message=\"Circuit of acme/glm-4.6 opened\" provider=acme consecutive_fails=5 probe=false");
}

RequestRecord MakeRecord() {
  RequestRecord record;
  record.request_id = "00112233445566ff";
  record.requested_model = "hotel/glm-4.6";
  record.resolved_model = "z-ai/glm-4.6";
  record.provider = "other";
  record.key_name = "dev";
  record.streaming = true;
  record.status = 200;
  record.created_at = WallTime(milliseconds(1788256800123));
  record.duration = milliseconds(340);
  record.ttft = milliseconds(90);

  AttemptRecord skipped;
  skipped.attempt = -1;
  skipped.provider = "down";
  skipped.model = "glm-4.6";
  skipped.breaker = BreakerEffect::kSkipped;
  AttemptRecord failed;
  failed.provider = "acme";
  failed.model = "z-ai/glm-4.6";
  failed.status = 503;
  failed.error_kind = ErrorKind::kProviderError;
  failed.duration = milliseconds(12);
  failed.breaker = BreakerEffect::kCharge;
  AttemptRecord silent = failed;
  silent.attempt = 1;
  silent.status.reset();
  silent.detail = "connection reset";
  AttemptRecord served;
  served.attempt = 2;
  served.provider = "other";
  served.model = "z-ai/glm-4.6";
  served.status = 200;
  served.duration = milliseconds(200);
  served.ttft = milliseconds(90);
  served.breaker = BreakerEffect::kSuccess;
  record.attempts = {skipped, failed, silent, served};
  return record;
}

TEST_CASE("A record line tells the request and its trail") {
  CHECK(RecordLine(MakeRecord()) ==
        "request=00112233445566ff at=2026-09-01T10:00:00.123Z endpoint=chat model=hotel/glm-4.6 "
        "resolved=z-ai/glm-4.6 provider=other key=dev stream=true status=200 duration_ms=340 "
        "ttft_ms=90 attempts=3 trail=\"skip down/glm-4.6 | "
        "0 acme/z-ai/glm-4.6 503 provider_error charge 12ms | "
        "1 acme/z-ai/glm-4.6 - provider_error charge 12ms (connection reset) | "
        "2 other/z-ai/glm-4.6 200 success 200ms ttft=90ms\"");
}

TEST_CASE("A record without attempts leaves out what is empty") {
  RequestRecord record;
  record.request_id = "1";
  record.requested_model = "bad\nname";
  record.status = 404;
  record.error_kind = ErrorKind::kValidation;
  record.error_message = "model not found";
  CHECK(RecordLine(record) ==
        "request=1 at=1970-01-01T00:00:00.000Z endpoint=chat model=\"bad\\nname\" stream=false "
        "status=404 kind=validation error=\"model not found\" duration_ms=0 attempts=0");
}

}  // namespace
