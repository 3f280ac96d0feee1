// What the metrics cost a finished request, and what a scrape takes.
#include <chrono>
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "server/metric_table.h"
#include "server/metrics.h"

namespace hotel::server {
namespace {

AttemptRecord Attempt(int index, const char* provider, int status, ErrorKind kind) {
  AttemptRecord attempt;
  attempt.attempt = index;
  attempt.provider_id = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
  attempt.provider = provider;
  attempt.model = "z-ai/glm-4.6";
  attempt.tries = 1;
  attempt.status = status;
  attempt.error_kind = kind;
  return attempt;
}

RequestRecord Served(const std::string& model) {
  RequestRecord record;
  record.requested_model = model;
  record.provider = "acme";
  record.status = 200;
  record.streaming = true;
  record.duration = std::chrono::milliseconds(1800);
  record.ttft = std::chrono::milliseconds(240);
  record.attempts = {Attempt(0, "acme", 200, ErrorKind::kNone)};
  record.attempts[0].usage = TokenUsage{1200, 350, 1000, 40, false};
  return record;
}

/// A stream that its first candidate served, among as many names as given.
void RecordServed(benchmark::State& state) {
  Metrics metrics;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    metrics.Record(Served("hotel/group-" + std::to_string(i)));
  }
  const RequestRecord record = Served("hotel/group-0");
  for (auto _ : state) metrics.Record(record);
}
BENCHMARK(RecordServed)->Arg(1)->Arg(kMostPairs);

/// One whose first candidate was busy.
void RecordFailedOver(benchmark::State& state) {
  Metrics metrics;
  RequestRecord record = Served("hotel/group-0");
  record.attempts.insert(record.attempts.begin(),
                         Attempt(0, "other", 429, ErrorKind::kProviderSaturated));
  record.attempts[0].rate_limit = "saturated";
  record.attempts[1].attempt = 1;
  for (auto _ : state) metrics.Record(record);
}
BENCHMARK(RecordFailedOver);

void WritePage(benchmark::State& state) {
  Metrics metrics;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    metrics.Record(Served("hotel/group-" + std::to_string(i)));
  }
  std::int64_t bytes = 0;
  for (auto _ : state) bytes += static_cast<std::int64_t>(metrics.Page(nullptr, nullptr).size());
  state.SetBytesProcessed(bytes);
}
BENCHMARK(WritePage)->Arg(10)->Arg(kMostPairs)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hotel::server
