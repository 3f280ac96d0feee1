#include "libhotel/store/log_segment.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hotel/log_store.h"

#include "libhotel/store/log_column.h"
#include "tests/support/catch.h"
#include "tests/unit/store/log_fixture.h"

namespace hotel::store {
namespace {

/// A log of some thousand rows, and the same rows in a vector.
class Twin {
 public:
  Twin() { Open(); }

  void Open() {
    log.reset();
    log = Must(OpenLogStore(LogOptions(path), &clock));
  }

  void Add(int rows) {
    for (int i = 0; i < rows; ++i) {
      RequestRecord record = Any();
      log->Record(record);
      kept.push_back(std::move(record));
      if (i % 5000 == 4999) REQUIRE(log->Flush(kLong));
    }
    REQUIRE(log->Flush(kLong));
  }

  /// They are made behind the rows.
  void WaitForSegments(int count) {
    RawDatabase raw(path);
    while (raw.Value("SELECT count(*) || '' FROM request_segments") != std::to_string(count)) {
      std::this_thread::yield();
    }
  }

  void Purge(milliseconds before) {
    const WallTime end = clock.wall + before;
    const auto old = [end](const RequestRecord& record) { return record.created_at < end; };
    const auto gone = std::count_if(kept.begin(), kept.end(), old);
    CHECK(Must(log->Purge(end)) == gone);
    kept.erase(std::remove_if(kept.begin(), kept.end(), old), kept.end());
  }

  static bool Matches(const RequestRecord& record, const LogFilter& filter) {
    const auto text = [](const std::string& wanted, std::string_view value) {
      return wanted.empty() || wanted == value;
    };
    const bool attempts =
        (filter.attempt_provider_id.empty() && !filter.attempt_status) ||
        std::any_of(record.attempts.begin(), record.attempts.end(), [&](const AttemptRecord& a) {
          return text(filter.attempt_provider_id, a.provider_id) &&
                 (!filter.attempt_status || *filter.attempt_status == a.status.value_or(0));
        });
    return attempts && text(filter.model_id, record.requested_model) &&
           text(filter.provider_id, record.provider_id) && text(filter.key_name, record.key_name) &&
           text(filter.key_id, record.key_id) && text(filter.client_ip, record.client_ip) &&
           text(filter.endpoint, EndpointName(record.endpoint)) &&
           (!filter.status || *filter.status == record.status) &&
           (!filter.status_class || *filter.status_class == record.status / 100) &&
           (!filter.from || record.created_at >= *filter.from) &&
           (!filter.to || record.created_at < *filter.to);
  }

  /// The ids that match, in order of arrival; of one instant in the order they were written.
  std::vector<std::string> Expected(const LogFilter& filter) const {
    std::vector<const RequestRecord*> found;
    for (const RequestRecord& record : kept) {
      if (Matches(record, filter)) found.push_back(&record);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto* a, const auto* b) { return a->created_at < b->created_at; });
    std::vector<std::string> ids;
    for (const RequestRecord* record : found) ids.push_back(record->request_id);
    return ids;
  }

  LogFilter AnyFilter() {
    LogFilter filter;
    const auto sometimes = [this] { return random() % 4 == 0; };
    if (sometimes()) filter.model_id = Name("model");
    if (sometimes()) filter.provider_id = Name("provider");
    if (sometimes()) filter.key_name = Name("key");
    if (sometimes()) filter.key_id = Name("id");
    if (sometimes()) filter.client_ip = Name("10.0.0.");
    if (sometimes()) filter.endpoint = EndpointName(Endpoint::kEmbeddings);
    if (sometimes()) filter.status = Status();
    if (sometimes()) filter.status_class = Status() / 100;
    if (sometimes()) filter.attempt_provider_id = Name("provider");
    if (sometimes()) filter.attempt_status = Status();
    if (sometimes()) filter.from = clock.wall + milliseconds(random() % 9000);
    if (sometimes()) filter.to = clock.wall + milliseconds(random() % 9000);
    return filter;
  }

  void Check(const LogFilter& filter) {
    std::vector<std::string> wanted = Expected(filter);
    const std::size_t offset = wanted.empty() ? 0 : random() % wanted.size();
    const std::size_t limit = 1 + random() % 200;
    const auto slice = [&] {
      const std::size_t end = std::min(wanted.size(), offset + limit);
      std::string ids;
      for (std::size_t i = offset; i < end; ++i) ids += (ids.empty() ? "" : " ") + wanted[i];
      return ids;
    };
    const LogPage oldest = Must(log->Page(filter, offset, limit, LogOrder::kOldestFirst));
    CHECK(IdsOf(oldest.entries) == slice());
    CHECK(oldest.total == static_cast<std::int64_t>(wanted.size()));
    CHECK(oldest.total_exact);
    std::reverse(wanted.begin(), wanted.end());
    const LogPage newest = Must(log->Page(filter, offset, limit));
    CHECK(IdsOf(newest.entries) == slice());
    CHECK(newest.total == static_cast<std::int64_t>(wanted.size()));
    if (offset == 0) return;
    const LogEntry before = Must(log->Page(filter, offset - 1, 1)).entries.at(0);
    CHECK(IdsOf(Must(log->Next(filter, &before, limit))) == slice());
  }

  void CheckAll() {
    Check({});
    for (int i = 0; i < 16; ++i) Check(AnyFilter());
    for (int i = 0; i < 6 && !kept.empty(); ++i) {
      const std::string& id = kept[random() % kept.size()].request_id;
      CHECK(Must(log->Find(id)).value().request_id == id);
    }
    CHECK_FALSE(Must(log->Find("nobody")));
  }

  TempDir dir;
  const std::string path = dir.File("hotel.db");
  TestClock clock;
  std::mt19937 random{20260701};
  std::vector<RequestRecord> kept;
  std::unique_ptr<LogStore> log;

 private:
  std::string Name(const std::string& what) {
    const auto n = random() % 16;
    return n == 0 ? std::string() : what + std::to_string(n < 12 ? 1 : n);
  }

  int Status() {
    constexpr int kStatuses[] = {200, 200, 200, 429, 503, 0, 404};
    return kStatuses[random() % std::size(kStatuses)];
  }

  RequestRecord Any() {
    // Not in order of arrival: a long request is written behind later ones.
    ++number_;
    RequestRecord record =
        RecordOf("r" + std::to_string(number_), milliseconds(number_ / 2 + random() % 1500));
    record.requested_model = Name("model");
    record.provider_id = Name("provider");
    record.key_name = Name("key");
    record.key_id = Name("id");
    record.client_ip = Name("10.0.0.");
    if (random() % 8 == 0) record.endpoint = Endpoint::kEmbeddings;
    record.status = Status();
    record.attempts.resize(random() % 4, record.attempts[0]);
    for (AttemptRecord& attempt : record.attempts) {
      attempt.provider_id = random() % 2 == 0 ? record.provider_id : Name("provider");
      attempt.status = random() % 2 == 0 ? record.status : Status();
      if (random() % 8 == 0) attempt.status.reset();
    }
    return record;
  }

  int number_ = 0;
};

TEST_CASE("request log: filters, order and counts are those of a plain list, also in segments") {
  Twin twin;
  twin.Add(100);
  twin.CheckAll();
  twin.Add(5000);
  twin.WaitForSegments(2);
  twin.CheckAll();
  // Reads what it wrote before, and goes on behind it.
  twin.Open();
  twin.CheckAll();
  twin.Add(2000);
  twin.WaitForSegments(3);
  twin.CheckAll();
}

TEST_CASE("request log: purging leaves segments that tell of what is left") {
  Twin twin;
  twin.Add(5500);
  for (const int before : {1, 700, 1100, 2500}) {
    twin.Purge(milliseconds(before));
    twin.CheckAll();
  }
  twin.Add(3000);
  twin.CheckAll();
  twin.Purge(milliseconds(4300));
  twin.Open();
  twin.CheckAll();
  twin.Purge(std::chrono::hours(1));
  CHECK(twin.kept.empty());
  twin.CheckAll();
  RawDatabase raw(twin.path);
  CHECK(raw.Value("SELECT count(*) || '' FROM request_columns") == "0");
  CHECK(raw.Value("SELECT count(*) || '' FROM request_attempts") == "0");
  // Numbers of rows begin anew.
  twin.Add(2500);
  twin.CheckAll();
}

TEST_CASE("request log: a segment ends early when its rows had very many attempts") {
  Twin twin;
  for (int i = 0; i < 40; ++i) {
    RequestRecord record = RecordOf(std::to_string(i));
    record.attempts.resize(1000, record.attempts[0]);
    for (int k = 0; k < 1000; ++k) {
      record.attempts[static_cast<std::size_t>(k)].provider_id = "p" + std::to_string(k % 997);
    }
    twin.log->Record(record);
    twin.kept.push_back(std::move(record));
  }
  twin.Add(2048);
  CHECK(Must(twin.log->Page({}, 0, 1)).total == 2088);
  twin.WaitForSegments(3);
  CHECK(RawDatabase(twin.path).Value("SELECT rows || '' FROM request_segments LIMIT 1") == "17");
  LogFilter filter;
  filter.attempt_provider_id = "p996";
  twin.Check(filter);
}

/// Two ids that a segment keeps the same four bytes of: among 300,000 there are some.
std::pair<std::string, std::string> Alike() {
  RequestIdColumn column;
  for (int i = 0; i < 300000; ++i) column.Add(std::to_string(i));
  const std::string bytes = column.Pack();
  std::unordered_map<std::string, int> seen;
  for (int i = 0; i < 300000; ++i) {
    const auto [found, added] = seen.emplace(bytes.substr(static_cast<std::size_t>(i) * 4, 4), i);
    if (!added) return {std::to_string(found->second), std::to_string(i)};
  }
  throw std::runtime_error("no two ids are alike");
}

TEST_CASE("request log: ids that look alike in a segment are told apart") {
  const auto [one, other] = Alike();
  REQUIRE(one != other);
  Twin twin;
  for (const std::string& id : {one, other, one}) {
    RequestRecord record = RecordOf(id);
    record.status = id == one ? 201 : 202;
    twin.log->Record(record);
  }
  twin.log->Record(RecordOf("r0"));
  twin.Add(2100);
  twin.WaitForSegments(1);
  CHECK(Must(twin.log->Find(one))->status == 201);
  CHECK(Must(twin.log->Find(one))->seq == 3);  // the newest
  CHECK(Must(twin.log->Find(other))->status == 202);
}

TEST_CASE("request log: columns that are cut or altered are DataLoss, never read beyond") {
  Twin twin;
  twin.Add(2100);
  twin.WaitForSegments(1);
  LogFilter filter;
  filter.model_id = "model1";
  filter.attempt_status = 200;
  filter.status_class = 2;
  filter.to = twin.clock.wall + milliseconds(100);
  REQUIRE(twin.log->Page(filter, 0, 1).ok());
  RawDatabase raw(twin.path);
  for (const LogColumn column :
       {LogColumn::kPlace, LogColumn::kModel, LogColumn::kStatus, LogColumn::kAttempts}) {
    const std::string id = std::to_string(16 + static_cast<int>(column));
    raw.Run("CREATE TABLE spare AS SELECT data FROM request_columns WHERE id = " + id);
    const auto damaged = [&](const std::string& data) {
      raw.Run("UPDATE request_columns SET data = " + data + " WHERE id = " + id);
      CHECK(absl::IsDataLoss(twin.log->Page(filter, 0, 1).status()));
    };
    damaged("x''");
    damaged("x'ff'");
    damaged("(SELECT CAST(substr(data, 1, length(data) - 1) AS BLOB) FROM spare)");
    damaged("(SELECT CAST(data || x'00' AS BLOB) FROM spare)");
    damaged("x'ffffffff'");
    raw.Run("UPDATE request_columns SET data = (SELECT data FROM spare) WHERE id = " + id +
            "; DROP TABLE spare");
    CHECK(twin.log->Page(filter, 0, 1).ok());
  }
  raw.Run("DELETE FROM request_columns WHERE id = 18");
  CHECK(absl::IsDataLoss(twin.log->Page(filter, 0, 1).status()));
  raw.Run("UPDATE request_segments SET rows = 100000000");
  CHECK(absl::IsDataLoss(twin.log->Page({}, 0, 1).status()));
}

}  // namespace
}  // namespace hotel::store
