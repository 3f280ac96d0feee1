#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/load/process.h"
#include "benchmarks/load/times.h"

namespace hotel::load {

/// What went wrong with a request. Every request counts once.
enum class Fault { kConnect, kReset, kClosed, kBroken, kTimeout, kStatus, kFrames, kNotTerminated };
inline constexpr int kFaults = 8;

struct Results {
  long started = 0;
  long succeeded = 0;
  long failed = 0;
  long faults[kFaults] = {};
  std::map<int, long> statuses;
  /// The beginning of the first refusal's body.
  std::string first_refusal;
  long frames = 0;
  long connections_opened = 0;
  /// Idle connections the peer closed while they were held.
  long dropped = 0;
  double seconds = 0;
  Times headers;
  Times first_frame;
  Times whole;
  Times gaps;

  long finished() const { return succeeded + failed; }
};

/// Measures processes over a run.
class Watch {
 public:
  explicit Watch(const std::vector<int>& pids);
  /// Forgets what was before: the CPU time and memory so far become the baseline.
  void Start();
  /// Looks at the memory; to be called every now and then, since peaks pass.
  void Sample();
  /// Half of the run is over.
  void Half();
  /// The processes with their sums per request and per frame.
  std::string Json(const Results& results);

 private:
  struct Entry {
    Process process;
    double cpu_before = 0;
    long rss_before = 0;
    long rss_peak = 0;
    long rss_peak_half = 0;
  };
  std::vector<Entry> entries_;
};

std::string ResultsJson(Results* results, Watch* watch, int connections);

}  // namespace hotel::load
