// A row of the request log, from the record to the disk and all that it brings with it: CPU time of
// every thread, in a log that holds a hundred thousand rows.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

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

}  // namespace
}  // namespace hotel
