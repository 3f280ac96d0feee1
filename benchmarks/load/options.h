#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace hotel::load {

struct Options {
  sockaddr_storage address = {};
  socklen_t address_size = 0;
  /// The request, head and body, as it is sent.
  std::string request;
  int connections = 1;
  /// One of these ends the run: requests made, or the time after which none is started.
  long requests = 0;
  double seconds = 0;
  /// Frames every answer must have; not a stream when absent.
  std::optional<int> frames;
  /// Connections are opened spread over this time.
  int ramp_ms = 0;
  /// An answer that takes longer is an error.
  double timeout = 60;
  /// Not load: this many connections that have had one answer each are held open for `seconds`.
  int idle = 0;
  /// Processes whose CPU time and memory are measured.
  std::vector<int> pids;
};

/// Reads the command line. On a mistake, or when only help was asked for, prints and returns
/// nothing.
std::optional<Options> ParseOptions(int argc, char** argv, int* exit_status);

}  // namespace hotel::load
