// hotel-load: a load client that measures. It shares no code with the library: it is the other side
// of the benchmarks.
#include <fmt/format.h>
#include <sys/resource.h>

#include "benchmarks/load/load.h"
#include "benchmarks/load/options.h"
#include "benchmarks/load/results.h"

int main(int argc, char** argv) {
  int exit_status = 0;
  const auto options = hotel::load::ParseOptions(argc, argv, &exit_status);
  if (!options) return exit_status;
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  hotel::load::Watch watch(options->pids);
  hotel::load::Load load(*options);
  load.Run(&watch);
  const int connections = options->idle > 0 ? options->idle : options->connections;
  fmt::print("{}\n", hotel::load::ResultsJson(&load.results(), &watch, connections));
  return load.results().failed == 0 && load.results().dropped == 0 ? 0 : 1;
}
