// Requests that run for a while, and what is left of them when the process ends first.
#include <chrono>
#include <string>
#include <vector>

#include "hotel/log_store.h"

#include "libhotel/store/running_requests.h"
#include "tests/support/catch.h"
#include "tests/unit/store/log_fixture.h"

namespace {

using namespace hotel;
using namespace hotel::store;

std::string Noted(const std::string& path) {
  RawDatabase raw(path);
  return raw.Value("SELECT count(*) || '' FROM running_requests");
}

/// Asks until it is so.
bool WaitNoted(const std::string& path, const std::string& count) {
  const auto until = std::chrono::steady_clock::now() + kLong;
  while (std::chrono::steady_clock::now() < until) {
    if (Noted(path) == count) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("request log: a request that runs for a while is noted until its row is written") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto log = Must(OpenLogStore(LogOptions(path), &clock));
  RequestRecord record = RecordOf("long");
  log->Running(record);
  REQUIRE(WaitNoted(path, "1"));
  CHECK_FALSE(Must(log->Find("long")));
  log->Record(record);
  REQUIRE(log->Flush(kLong));
  CHECK(Noted(path) == "0");
  CHECK(Must(log->Find("long")).value().status == record.status);
  CHECK(Must(log->Page({}, 0, 10)).total == 1);
}

TEST_CASE("request log: a request that ends before it is noted leaves no note") {
  RunningRequests running;
  running.Add(RecordOf("one"));
  running.Add(RecordOf("two"));
  running.Add(RecordOf("two"));
  CHECK_FALSE(running.End("one"));
  CHECK(running.HasNew());
  const std::vector<LogRow> taken = running.TakeNew();
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().text(LogRow::kRequestId) == "two");
  CHECK_FALSE(running.HasNew());
  running.PutBack(taken);
  running.PutBack(taken);
  CHECK(running.TakeNew().size() == 1);
  CHECK_FALSE(running.HasNew());
  CHECK(running.End("two"));
  CHECK_FALSE(running.End("two"));
  running.PutBack(taken);  // it has ended meanwhile
  CHECK_FALSE(running.HasNew());
}

TEST_CASE("request log: what ran when the process ended gets its row at the next start") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  RequestRecord record = RecordOf("cut");
  record.requested_model = "hotel/glm";
  record.endpoint = Endpoint::kMessages;
  record.streaming = true;
  record.key_name = "dev";
  record.client_ip = "127.0.0.9";
  {
    auto log = Must(OpenLogStore(LogOptions(path), &clock));
    log->Running(record);
    REQUIRE(WaitNoted(path, "1"));
  }
  for (int start = 0; start < 2; ++start) {
    INFO("start " << start);
    EventList events;
    LogStoreOptions options = LogOptions(path);
    options.events = &events;
    auto log = Must(OpenLogStore(std::move(options), &clock));
    CHECK(Noted(path) == "0");
    CHECK(Must(log->Page({}, 0, 10)).total == 1);
    const LogEntry entry = Must(log->Find("cut")).value();
    CHECK(entry.status == 0);
    CHECK(entry.error_kind == "internal");
    CHECK(entry.error_message == "request interrupted (stale)");
    CHECK(entry.model_id == "hotel/glm");
    CHECK(entry.endpoint == "messages");
    CHECK(entry.streaming);
    CHECK(entry.key_name == "dev");
    CHECK(entry.client_ip == "127.0.0.9");
    CHECK(entry.created_at == record.created_at);
    CHECK(entry.attempts == "[]");
    log->Close();
    // Told once, by the start that found it.
    CHECK(events.Sum("request_log.interrupted", "requests") == (start == 0 ? 1 : 0));
  }
}
