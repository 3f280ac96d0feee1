#include "benchmarks/load/results.h"

#include <algorithm>

#include <fmt/format.h>

namespace hotel::load {
namespace {

constexpr const char* kFaultNames[kFaults] = {"connect", "reset",  "closed", "broken",
                                              "timeout", "status", "frames", "not_terminated"};

double PerUnit(double seconds, long units) {
  return units > 0 ? seconds * 1e6 / static_cast<double>(units) : 0;
}

/// As a JSON string; what is not plain ASCII becomes a question mark.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c >= ' ' && c < 127 ? c : '?';
  }
  return quoted + '"';
}

}  // namespace

Watch::Watch(const std::vector<int>& pids) {
  for (const int pid : pids) entries_.push_back({Process(pid)});
  Start();
}

void Watch::Start() {
  for (Entry& entry : entries_) {
    entry.cpu_before = entry.process.CpuSeconds();
    entry.rss_before = entry.rss_peak = entry.process.ResidentKib();
  }
}

void Watch::Sample() {
  for (Entry& entry : entries_) {
    entry.rss_peak = std::max(entry.rss_peak, entry.process.ResidentKib());
  }
}

void Watch::Half() {
  Sample();
  for (Entry& entry : entries_) entry.rss_peak_half = entry.rss_peak;
}

std::string Watch::Json(const Results& results) {
  Sample();
  std::string list;
  double cpu = 0;
  long before = 0;
  long peak = 0;
  long half = 0;
  bool alive = true;
  for (const Entry& entry : entries_) {
    const double now = entry.process.CpuSeconds();
    alive = alive && now >= 0 && entry.cpu_before >= 0;
    cpu += now - entry.cpu_before;
    before += entry.rss_before;
    peak += entry.rss_peak;
    half += entry.rss_peak_half;
    list +=
        fmt::format(R"({}{{"pid":{},"cpu_seconds":{:.4f},"rss_kib_before":{},"rss_kib_peak":{}}})",
                    list.empty() ? "" : ",", entry.process.pid(), now - entry.cpu_before,
                    entry.rss_before, entry.rss_peak);
  }
  return fmt::format(R"("processes":[{}],"processes_alive":{},"cpu_seconds":{:.4f},)"
                     R"("cpu_us_per_request":{:.2f},"cpu_us_per_frame":{:.3f},)"
                     R"("cpu_share":{:.5f},"rss_kib_before":{},"rss_kib_peak_first_half":{},)"
                     R"("rss_kib_peak":{})",
                     list, alive, cpu, PerUnit(cpu, results.finished()),
                     PerUnit(cpu, results.frames), results.seconds > 0 ? cpu / results.seconds : 0,
                     before, half, peak);
}

std::string ResultsJson(Results* results, Watch* watch, int connections) {
  std::string faults;
  for (int i = 0; i < kFaults; ++i) {
    if (results->faults[i] == 0) continue;
    faults +=
        fmt::format(R"({}"{}":{})", faults.empty() ? "" : ",", kFaultNames[i], results->faults[i]);
  }
  std::string statuses;
  for (const auto& [status, count] : results->statuses) {
    statuses += fmt::format(R"({}"{}":{})", statuses.empty() ? "" : ",", status, count);
  }
  const double rate =
      results->seconds > 0 ? static_cast<double>(results->finished()) / results->seconds : 0;
  return fmt::format(
      R"({{"connections":{},"seconds":{:.3f},"started":{},"succeeded":{},"failed":{},)"
      R"("faults":{{{}}},"statuses":{{{}}},"first_refusal":{},"rate":{:.2f},"frames":{},"connections_opened":{},)"
      R"("dropped":{},"headers_ms":{},"first_frame_ms":{},"whole_ms":{},"gap_ms":{},{}}})",
      connections, results->seconds, results->started, results->succeeded, results->failed, faults,
      statuses, Quoted(results->first_refusal), rate, results->frames, results->connections_opened,
      results->dropped, results->headers.Json(), results->first_frame.Json(), results->whole.Json(),
      results->gaps.Json(), watch->Json(*results));
}

}  // namespace hotel::load
