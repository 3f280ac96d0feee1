#include "benchmarks/load/process.h"

#include <fstream>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

namespace hotel::load {

double Process::CpuSeconds() const {
  // The sum of /proc/PID/stat, which shows it in hundredths of a second, in nanoseconds.
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

long Process::ResidentKib() const {
  std::ifstream file(fmt::format("/proc/{}/statm", pid_));
  long size = 0;
  long resident = 0;
  file >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace hotel::load
