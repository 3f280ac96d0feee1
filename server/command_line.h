// hoteld's command line.
#ifndef SERVER_COMMAND_LINE_H_
#define SERVER_COMMAND_LINE_H_

#include <optional>
#include <string>

namespace hotel::server {

struct CommandLine {
  std::string config;    ///< --config; empty = built-in defaults
  std::string listen;    ///< --listen; empty = as configured
  std::string data_dir;  ///< --data-dir; empty = as configured
  bool check = false;    ///< --check
};

/// Reads the arguments. When the program has nothing more to do (--help, --version, a mistake) the
/// text has been printed and the exit status is returned instead.
std::optional<CommandLine> ParseCommandLine(int argc, char** argv, int* exit_status);

}  // namespace hotel::server

#endif  // SERVER_COMMAND_LINE_H_
