#include "benchmarks/load/process.h"

#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace hotel::load {

double Process::CpuSeconds() const {
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  std::string line;
  std::getline(file, line);
  // The name may hold blanks and parentheses; the fields count from behind its last ')'.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(line.substr(name_end + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  unsigned long user = 0;
  unsigned long system = 0;
  fields >> user >> system;
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

long Process::ResidentKib() const {
  std::ifstream file(fmt::format("/proc/{}/statm", pid_));
  long size = 0;
  long resident = 0;
  file >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace hotel::load
