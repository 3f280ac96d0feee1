#include "server/command_line.h"

#include <CLI/CLI.hpp>

#include "hotel/hotel.h"

namespace hotel::server {

std::optional<CommandLine> ParseCommandLine(int argc, char** argv, int* exit_status) {
  CommandLine line;
  CLI::App app("Failover router for calls to large language models", "hoteld");
  app.footer(
      "Environment:\n"
      "  MASTER_KEY        secret that seals provider keys (default: a file in the data "
      "directory)\n"
      "  ADMIN_TOKEN       token of the admin API (default: made at the first start, shown once)\n"
      "  METRICS_TOKEN     token of /metrics (default: the admin token)\n"
      "  LOG_FORMAT        text (default) or json\n"
      "  DEBUG_LOG         true: log at debug level\n"
      "  DEBUG_LOG_SCOPES  comma-separated scopes to log at debug level");
  app.set_version_flag("--version", std::string("hoteld ") + Hotel::Version());
  auto* config = app.add_option("--config", line.config, "Configuration file (YAML)");
  app.add_option("--listen", line.listen,
                 "Address to listen on, HOST:PORT; port 0 picks one (default: server.listen of the "
                 "file, else 127.0.0.1:8081)");
  app.add_option("--data-dir", line.data_dir,
                 "Directory of the database (default: server.data_dir of the file, else ./data)");
  app.add_flag("--check", line.check, "Check the configuration file and exit")->needs(config);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  return line;
}

}  // namespace hotel::server
