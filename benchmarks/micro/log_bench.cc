// The request log: what a row costs, from the record to the disk and with all that it brings with
// it, and how long a page takes among a million rows.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hotel/clock.h"
#include "hotel/defaults.h"
#include "hotel/log_store.h"
#include "hotel/request_log.h"

#include "libhotel/base/ids.h"

namespace hotel {
namespace {

constexpr std::int64_t kBefore = 100000;
constexpr std::int64_t kRows = 20000;

/// A folder that goes with its owner.
class Folder {
 public:
  Folder() {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string File(const char* name) const { return (path_ / name).string(); }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("hotel-log-bench-" + std::to_string(::getpid()));
};

/// A chat request that the first candidate served.
RequestRecord Served() {
  RequestRecord record;
  record.requested_model = "hotel/chat";
  record.resolved_model = "vendor/model-large";
  record.provider_id = "0f8fad5b-d9cb-469f-a165-70867728950e";
  record.provider = "first";
  record.key_name = "dev";
  record.status = 200;
  record.duration = std::chrono::milliseconds(1500);
  record.usage = TokenUsage{100, 20, 0, 0, false};
  AttemptRecord attempt;
  attempt.provider_id = record.provider_id;
  attempt.provider = record.provider;
  attempt.model = record.resolved_model;
  attempt.tries = 1;
  attempt.status = 200;
  attempt.duration = std::chrono::milliseconds(1400);
  attempt.breaker = BreakerEffect::kSuccess;
  record.attempts = {attempt};
  return record;
}

void Write(LogStore& log, RequestRecord& record, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) {
    record.request_id = base::NewRequestId();
    record.created_at += std::chrono::milliseconds(i % 20 == 0 ? 1 : 0);
    log.Record(record);
    if (i % 5000 == 4999) log.Flush(std::chrono::seconds(60));
  }
  log.Flush(std::chrono::seconds(60));
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void WriteRowOfTheLog(benchmark::State& state) {
  const Folder folder;
  const auto clock = MakeSystemClock();
  LogStoreOptions options;
  options.path = folder.File("hotel.db");
  const auto log = OpenLogStore(options, clock.get()).value();
  RequestRecord record = Served();
  record.created_at = clock->WallNow();
  Write(*log, record, kBefore);
  double cpu = 0;
  for (auto _ : state) {
    const double begin = CpuSeconds();
    Write(*log, record, kRows);
    cpu += CpuSeconds() - begin;
  }
  state.counters["us_cpu_per_row"] =
      cpu * 1e6 / static_cast<double>(kRows) / static_cast<double>(state.iterations());
}
BENCHMARK(WriteRowOfTheLog)->Iterations(5)->Unit(benchmark::kMillisecond);

/// One in so many rows has each value: common, less so, rare, and none.
std::string Value(std::mt19937& random, const std::string& name) {
  const auto n = random() % 10000;
  const char* const which = n < 7000 ? "often" : n < 9900 ? "now and then" : "hardly ever";
  return name + " " + which;
}

RequestRecord Varied(std::mt19937& random) {
  RequestRecord record = Served();
  record.requested_model = Value(random, "model");
  record.provider_id = Value(random, "provider");
  record.key_name = Value(random, "key");
  record.key_id = Value(random, "key id");
  record.client_ip = Value(random, "address");
  record.endpoint = random() % 50 == 0 ? Endpoint::kEmbeddings : Endpoint::kChatCompletions;
  record.attempts[0].provider_id = record.provider_id;
  if (random() % 10 == 0) {
    AttemptRecord refused = record.attempts[0];
    refused.provider_id = Value(random, "provider");
    refused.status = random() % 100 == 0 ? 418 : 429;
    record.attempts.insert(record.attempts.begin(), refused);
    record.attempts[1].attempt = 1;
  }
  if (random() % 100 == 0) record.status = random() % 10 == 0 ? 404 : 503;
  return record;
}

using Set = void (*)(LogFilter*, bool rare);

/// Every filter, for a common value and for a rare one.
const std::vector<Set>& Filters() {
  static const std::vector<Set> filters = {
      [](LogFilter* f, bool rare) { f->model_id = rare ? "model hardly ever" : "model often"; },
      [](LogFilter* f, bool rare) { f->provider_id = rare ? "no provider" : "provider often"; },
      [](LogFilter* f, bool rare) { f->key_name = rare ? "key hardly ever" : "key often"; },
      [](LogFilter* f, bool rare) { f->key_id = rare ? "key id hardly ever" : "key id often"; },
      [](LogFilter* f, bool rare) {
        f->client_ip = rare ? "address hardly ever" : "address often";
      },
      [](LogFilter* f, bool rare) { f->endpoint = rare ? "embeddings" : "chat"; },
      [](LogFilter* f, bool rare) { f->status = rare ? 404 : 200; },
      [](LogFilter* f, bool rare) { f->status_class = rare ? 4 : 5; },
      [](LogFilter* f, bool rare) {
        f->attempt_provider_id = rare ? "provider hardly ever" : "provider often";
      },
      [](LogFilter* f, bool rare) { f->attempt_status = rare ? 418 : 429; },
  };
  return filters;
}

std::vector<LogFilter> FiltersAndPairs() {
  std::vector<LogFilter> all;
  for (std::size_t i = 0; i < Filters().size(); ++i) {
    for (std::size_t k = i; k < Filters().size(); ++k) {
      for (const bool first : {false, true}) {
        for (const bool second : {false, true}) {
          LogFilter filter;
          Filters()[i](&filter, first);
          if (k != i) Filters()[k](&filter, second);
          all.push_back(filter);
        }
      }
    }
  }
  return all;
}

double Milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void PageAmongAMillionRows(benchmark::State& state) {
  const Folder folder;
  const auto clock = MakeSystemClock();
  LogStoreOptions options;
  options.path = folder.File("hotel.db");
  const auto log = OpenLogStore(options, clock.get()).value();
  std::mt19937 random(1);
  std::string some_id;
  for (int i = 0; i < 1000000; ++i) {
    RequestRecord record = Varied(random);
    record.request_id = base::NewRequestId();
    // Long requests are written behind later ones.
    record.created_at = clock->WallNow() + std::chrono::milliseconds(i - random() % 60000);
    if (i == 1000) some_id = record.request_id;
    log->Record(record);
    if (i % 5000 == 4999) log->Flush(std::chrono::seconds(60));
  }
  log->Flush(std::chrono::seconds(60));
  const std::vector<LogFilter> filters = FiltersAndPairs();
  std::vector<double> times;
  double find = 0;
  double far = 0;
  for (auto _ : state) {
    for (const LogFilter& filter : filters) {
      const auto begin = std::chrono::steady_clock::now();
      if (!log->Page(filter, 0, 50).ok()) state.SkipWithError("no page");
      times.push_back(Milliseconds(std::chrono::steady_clock::now() - begin));
    }
    auto begin = std::chrono::steady_clock::now();
    if (!log->Find(some_id).value()) state.SkipWithError("not found");
    find = std::max(find, Milliseconds(std::chrono::steady_clock::now() - begin));
    begin = std::chrono::steady_clock::now();
    if (!log->Page({}, LogReader::kMostSkipped, 50).ok()) state.SkipWithError("no page");
    far = std::max(far, Milliseconds(std::chrono::steady_clock::now() - begin));
  }
  std::sort(times.begin(), times.end());
  state.counters["filters"] = static_cast<double>(filters.size());
  state.counters["p50_ms"] = times[times.size() / 2];
  state.counters["p99_ms"] = times[times.size() * 99 / 100];
  state.counters["max_ms"] = times.back();
  state.counters["oldest_by_id_ms"] = find;
  state.counters["most_skipped_ms"] = far;
}
BENCHMARK(PageAmongAMillionRows)->Iterations(10)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hotel
