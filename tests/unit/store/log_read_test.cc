#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotel/log_store.h"

#include "tests/support/catch.h"
#include "tests/unit/store/log_fixture.h"

namespace hotel::store {
namespace {

/// A log with five requests, one a second: plain, failed over from a 429, failed, a client that
/// left, one of another endpoint and key.
class World {
 public:
  World() : log(Must(OpenLogStore(LogOptions(dir.File("hotel.db")), &clock))) {
    log->Record(RecordOf("r1", milliseconds(1000)));

    RequestRecord second = RecordOf("r2", milliseconds(2000));
    AttemptRecord busy = second.attempts[0];
    busy.provider_id = kOther;
    busy.provider = "other";
    busy.status = 429;
    busy.error_kind = ErrorKind::kProviderSaturated;
    busy.detail = "slow \"down\"";
    busy.rate_limit = "saturated";
    busy.phrase = "slow down";
    busy.breaker = BreakerEffect::kNoop;
    second.attempts[0].attempt = 1;
    second.attempts[0].hedged = true;
    second.attempts[0].ttft = milliseconds(700);
    second.attempts.insert(second.attempts.begin(), busy);
    second.streaming = true;
    second.ttft = milliseconds(900);
    second.usage = TokenUsage{100, 20, 60, 5, false};
    log->Record(second);

    RequestRecord third = RecordOf("r3", milliseconds(3000));
    third.status = 503;
    third.error_kind = ErrorKind::kProviderError;
    third.error_message = "the provider failed";
    third.attempts[0].status = 503;
    third.attempts[0].error_kind = ErrorKind::kProviderError;
    log->Record(third);

    RequestRecord fourth = RecordOf("r4", milliseconds(4000));
    fourth.status = 499;
    fourth.error_kind = ErrorKind::kClientDisconnect;
    fourth.resolved_model.clear();
    fourth.attempts[0].status.reset();
    log->Record(fourth);

    RequestRecord fifth = RecordOf("r5", milliseconds(5000));
    fifth.requested_model = "acme/embed";
    fifth.endpoint = Endpoint::kEmbeddings;
    fifth.key_name.clear();
    fifth.provider_id.clear();
    fifth.provider.clear();
    fifth.status = 404;
    fifth.attempts.clear();
    log->Record(fifth);
    if (!log->Flush(kLong)) throw std::runtime_error("not written");
  }

  std::string Ids(const LogFilter& filter) {
    const LogPage page = Must(log->Page(filter, 0, 200));
    CHECK(page.total == static_cast<std::int64_t>(page.entries.size()));
    CHECK(page.total_exact);
    // The cursor walks over the same rows.
    std::string walked;
    std::vector<LogEntry> some = Must(log->Next(filter, nullptr, 1));
    while (!some.empty()) {
      walked += (walked.empty() ? "" : " ") + some[0].request_id;
      const LogEntry last = some[0];
      some = Must(log->Next(filter, &last, 1));
    }
    CHECK(walked == IdsOf(page.entries));
    return walked;
  }

  TempDir dir;
  TestClock clock;
  std::unique_ptr<LogStore> log;
};

TEST_CASE("request log: a row holds what the record held") {
  World world;
  const LogEntry entry = *Must(world.log->Find("r2"));
  CHECK(entry.model_id == "hotel/glm");
  CHECK(entry.resolved_model_id == "z-ai/glm");
  CHECK(entry.provider_id == kAcme);
  CHECK(entry.provider_name == "acme");
  CHECK(entry.key_name == "dev");
  CHECK(entry.endpoint == "chat");
  CHECK(entry.streaming);
  CHECK(entry.status == 200);
  CHECK(entry.error_kind.empty());
  CHECK(entry.failover_attempt == 1);
  CHECK(entry.duration_ms == 1500);
  CHECK(entry.ttft_ms == 900);
  CHECK((entry.usage == TokenUsage{100, 20, 60, 5, false}));
  CHECK(entry.created_at == world.clock.wall + milliseconds(2000));
  CHECK(entry.attempts ==
        "[{\"attempt\":0,\"provider_id\":\"aaaaaaaa-0000-4000-8000-000000000002\",\"provider\":"
        "\"other\",\"model\":\"z-ai/glm\",\"status\":429,\"error_kind\":\"provider_saturated\","
        "\"detail\":\"slow \\\"down\\\"\",\"rate_limit\":\"saturated\",\"phrase\":\"slow down\","
        "\"tries\":1,\"duration_ms\":1400,\"breaker\":\"noop\"},"
        "{\"attempt\":1,\"provider_id\":\"aaaaaaaa-0000-4000-8000-000000000001\",\"provider\":"
        "\"acme\",\"model\":\"z-ai/glm\",\"status\":200,\"tries\":1,\"duration_ms\":1400,"
        "\"ttft_ms\":700,\"hedged\":true,\"breaker\":\"success\"}]");
  const LogEntry left = *Must(world.log->Find("r4"));
  CHECK(left.resolved_model_id.empty());
  CHECK(left.error_kind == "client_disconnect");
  CHECK_FALSE(left.ttft_ms);
  CHECK_FALSE(left.usage);
  CHECK(left.attempts.find("status") == std::string::npos);
  CHECK(Must(world.log->Find("r5"))->attempts == "[]");
  CHECK_FALSE(Must(world.log->Find("r6")));
}

TEST_CASE("request log: every filter, alone and with the time") {
  World world;
  struct Row {
    const char* name;
    void (*set)(LogFilter*);
    std::string ids;
  };
  const Row rows[] = {
      {"none", [](LogFilter*) {}, "r5 r4 r3 r2 r1"},
      {"model", [](LogFilter* f) { f->model_id = "hotel/glm"; }, "r4 r3 r2 r1"},
      {"provider", [](LogFilter* f) { f->provider_id = kAcme; }, "r4 r3 r2 r1"},
      {"provider that only refused", [](LogFilter* f) { f->provider_id = kOther; }, ""},
      {"key", [](LogFilter* f) { f->key_name = "dev"; }, "r4 r3 r2 r1"},
      {"endpoint", [](LogFilter* f) { f->endpoint = "embeddings"; }, "r5"},
      {"status", [](LogFilter* f) { f->status = 200; }, "r2 r1"},
      {"class", [](LogFilter* f) { f->status_class = 4; }, "r5 r4"},
      {"attempt provider", [](LogFilter* f) { f->attempt_provider_id = kAcme; }, "r4 r3 r2 r1"},
      {"attempt status", [](LogFilter* f) { f->attempt_status = 429; }, "r2"},
      {"attempt without answer", [](LogFilter* f) { f->attempt_status = 0; }, "r4"},
      {"answer of a provider",
       [](LogFilter* f) {
         f->attempt_provider_id = kOther;
         f->attempt_status = 429;
       },
       "r2"},
      {"both, but of two attempts",
       [](LogFilter* f) {
         f->attempt_provider_id = kAcme;
         f->attempt_status = 429;
       },
       ""},
      {"three at once",
       [](LogFilter* f) {
         f->model_id = "hotel/glm";
         f->status_class = 5;
         f->attempt_provider_id = kAcme;
       },
       "r3"},
      {"model and key and endpoint",
       [](LogFilter* f) {
         f->model_id = "hotel/glm";
         f->key_name = "dev";
         f->endpoint = "embeddings";
       },
       ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    LogFilter filter;
    row.set(&filter);
    CHECK(world.Ids(filter) == row.ids);
    // The end is exclusive, the beginning is not.
    filter.from = world.clock.wall + milliseconds(2000);
    filter.to = world.clock.wall + milliseconds(4000);
    std::string middle;
    for (const char* id : {"r3", "r2"}) {
      if (row.ids.find(id) == std::string::npos) continue;
      middle += (middle.empty() ? "" : " ") + std::string(id);
    }
    CHECK(world.Ids(filter) == middle);
  }
}

TEST_CASE("request log: pages are in order of arrival, in both directions") {
  World world;
  CHECK(IdsOf(Must(world.log->Page({}, 0, 2)).entries) == "r5 r4");
  CHECK(IdsOf(Must(world.log->Page({}, 2, 2)).entries) == "r3 r2");
  const LogPage last = Must(world.log->Page({}, 4, 2));
  CHECK(IdsOf(last.entries) == "r1");
  CHECK(last.total == 5);
  CHECK(Must(world.log->Page({}, 6, 2)).entries.empty());
  CHECK(IdsOf(Must(world.log->Page({}, 1, 2, LogOrder::kOldestFirst)).entries) == "r2 r3");
  // A long request is written after later ones, and stands where it arrived.
  world.log->Record(RecordOf("late", milliseconds(2500)));
  REQUIRE(world.log->Flush(kLong));
  CHECK(IdsOf(Must(world.log->Page({}, 0, 200)).entries) == "r5 r4 r3 late r2 r1");
}

TEST_CASE("request log: what matches is counted exactly up to a bound") {
  TempDir dir;
  TestClock clock;
  auto log = Must(OpenLogStore(LogOptions(dir.File("hotel.db")), &clock));
  const auto add = [&](std::int64_t rows, const char* key) {
    for (std::int64_t i = 0; i < rows; ++i) {
      RequestRecord record = RecordOf("r");
      record.key_name = key;
      log->Record(record);
      if (i % 5000 == 4999) REQUIRE(log->Flush(kLong));
    }
    REQUIRE(log->Flush(kLong));
  };
  LogFilter one;
  one.provider_id = kAcme;
  LogFilter two = one;
  two.key_name = "dev";
  add(LogReader::kMostCounted - 7, "dev");
  add(7, "other");
  CHECK(Must(log->Page(one, 0, 1)).total == LogReader::kMostCounted);
  CHECK(Must(log->Page(one, 0, 1)).total_exact);
  CHECK(Must(log->Page(two, 0, 1)).total == LogReader::kMostCounted - 7);
  CHECK(Must(log->Page(two, 0, 1)).total_exact);
  add(8, "dev");
  for (const LogFilter& filter : {one, two}) {
    CHECK(Must(log->Page(filter, 0, 1)).total == LogReader::kMostCounted);
    CHECK_FALSE(Must(log->Page(filter, 0, 1)).total_exact);
  }
  CHECK(Must(log->Page({}, 0, 1)).total == LogReader::kMostCounted + 8);
  two.key_name = "other";
  CHECK(Must(log->Page(two, 0, 1)).total == 7);
  CHECK(Must(log->Page(two, 0, 1)).total_exact);
}

TEST_CASE("request log: rows of one millisecond are each seen once") {
  TempDir dir;
  TestClock clock;
  auto log = Must(OpenLogStore(LogOptions(dir.File("hotel.db")), &clock));
  for (int i = 0; i < 10; ++i) log->Record(RecordOf(std::to_string(i)));
  REQUIRE(log->Flush(kLong));
  std::string walked;
  std::vector<LogEntry> some = Must(log->Next({}, nullptr, 3));
  while (!some.empty()) {
    walked += IdsOf(some) + " ";
    const LogEntry last = some.back();
    some = Must(log->Next({}, &last, 3));
  }
  CHECK(walked == "9 8 7 6 5 4 3 2 1 0 ");
}

TEST_CASE("request log: a page has bounds") {
  World world;
  CHECK(absl::IsInvalidArgument(world.log->Page({}, 0, 0).status()));
  CHECK(absl::IsInvalidArgument(world.log->Page({}, 0, LogReader::kMostPerPage + 1).status()));
  CHECK(absl::IsInvalidArgument(world.log->Page({}, LogReader::kMostSkipped + 1, 1).status()));
  CHECK(absl::IsInvalidArgument(world.log->Next({}, nullptr, 0).status()));
  CHECK(world.log->Page({}, LogReader::kMostSkipped, LogReader::kMostPerPage).ok());
}

TEST_CASE("request log: totals count what was served, by requested model and provider") {
  World world;
  RequestRecord more = RecordOf("r6", milliseconds(9000));
  more.usage = TokenUsage{1, 2, 0, 0, true};
  world.log->Record(more);
  REQUIRE(world.log->Flush(kLong));
  REQUIRE(Must(world.log->Purge(std::nullopt)) == 6);
  for (const auto& [scope, name] :
       {std::pair<LogReader::Scope, std::string>{LogReader::Scope::kModel, "hotel/glm"},
        std::pair<LogReader::Scope, std::string>{LogReader::Scope::kProvider, kAcme}}) {
    const std::vector<UsageTotal> totals = Must(world.log->Totals(scope));
    REQUIRE(totals.size() == 1);
    CHECK(totals[0].name == name);
    CHECK(totals[0].requests == 2);
    CHECK(totals[0].tokens == 123);
    CHECK(totals[0].counted_from == world.clock.wall + milliseconds(2000));
    CHECK(totals[0].last_used_at == world.clock.wall + milliseconds(9000));
  }
}

TEST_CASE("request log: sums of a time by provider, to the minute, whatever is purged") {
  World world;
  RequestRecord later = RecordOf("later", milliseconds(60000));
  later.provider_id = kOther;
  later.usage = TokenUsage{7, 3, 0, 0, true};
  world.log->Record(later);
  REQUIRE(world.log->Flush(kLong));
  REQUIRE(Must(world.log->Purge(std::nullopt)) == 6);
  const auto sums = Must(world.log->SumsSince(world.clock.wall));
  REQUIRE(sums.size() == 3);
  CHECK(sums[0].provider_id.empty());
  CHECK(sums[0].requests == 1);
  CHECK(sums[1].provider_id == kAcme);
  CHECK(sums[1].requests == 4);
  CHECK(sums[1].failed == 2);
  CHECK(sums[1].tokens_prompt == 100);
  CHECK(sums[1].tokens_completion == 20);
  CHECK(sums[1].duration_ms == 6000);
  CHECK(sums[2].requests == 1);
  // The clock of these tests stands at the beginning of a minute.
  const auto late = Must(world.log->SumsSince(world.clock.wall + std::chrono::minutes(1)));
  REQUIRE(late.size() == 1);
  CHECK(late[0].provider_id == kOther);
  CHECK(Must(world.log->SumsSince(world.clock.wall + std::chrono::minutes(2))).empty());

  const auto series = Must(world.log->SeriesSince(world.clock.wall, std::chrono::minutes(1)));
  REQUIRE(series.size() == 2);
  const auto minute = std::chrono::floor<std::chrono::minutes>(world.clock.wall);
  CHECK(series[0].at == minute);
  CHECK(series[0].sums.requests == 5);
  CHECK(series[0].sums.failed == sums[0].failed + sums[1].failed);
  CHECK(series[0].sums.tokens_prompt == 100);
  CHECK(series[1].at == minute + std::chrono::minutes(1));
  CHECK(series[1].sums.requests == 1);
  // Hours begin with the hour, whenever it is asked.
  const auto hours = Must(world.log->SeriesSince(world.clock.wall, std::chrono::hours(1)));
  REQUIRE(hours.size() == 1);
  CHECK(hours[0].at == std::chrono::floor<std::chrono::hours>(world.clock.wall));
  CHECK(hours[0].sums.requests == 6);
}

TEST_CASE("F161 control characters and bytes that are no text make a readable row") {
  TempDir dir;
  TestClock clock;
  auto log = Must(OpenLogStore(LogOptions(dir.File("hotel.db")), &clock));
  RequestRecord record = RecordOf("odd");
  record.requested_model = std::string("a\0b\x01\xff", 5);
  record.attempts[0].detail = std::string("x\0y\xc3", 4);
  log->Record(record);
  record = RecordOf("huge");
  record.requested_model = std::string(1 << 20, 'm');
  record.error_message = std::string(1 << 20, 'e');
  record.attempts.resize(100000, record.attempts[0]);
  log->Record(record);
  REQUIRE(log->Flush(kLong));
  CHECK(log->counts().written == 2);
  const LogEntry odd = *Must(log->Find("odd"));
  CHECK(odd.model_id == std::string("a\0b\x01\xff", 5));
  CHECK(odd.attempts.find("\"x\\u0000y\xef\xbf\xbd\"") != std::string::npos);
  const LogEntry huge = *Must(log->Find("huge"));
  CHECK(huge.model_id.size() == 256);
  CHECK(huge.error_message.size() == 1000);
  CHECK(huge.attempts.size() < 1 << 20);
}

}  // namespace
}  // namespace hotel::store
