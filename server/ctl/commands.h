// The commands of hotelctl that ask a running sidecar.
#ifndef SERVER_CTL_COMMANDS_H_
#define SERVER_CTL_COMMANDS_H_

#include <functional>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/ctl/remote.h"

namespace hotel::ctl {

/// What the command line said beside the command's own options.
struct Asked {
  std::string url = "http://127.0.0.1:8081";
  std::string token;
  bool json = false;  ///< the sidecar's answer as it is, for programs
};

/// What a command works with.
struct Session {
  Remote remote;
  bool json;
  std::ostream& out;
};
using Command = std::function<absl::Status(Session&)>;

// Each adds its command to `app` and sets `chosen` when the command line names it.
void AddGroups(CLI::App* app, Command* chosen);
void AddCircuits(CLI::App* app, Command* chosen);
void AddReset(CLI::App* app, Command* chosen);
void AddLogs(CLI::App* app, Command* chosen);
void AddSettings(CLI::App* app, Command* chosen);
void AddEvents(CLI::App* app, Command* chosen);
void AddProviders(CLI::App* app, Command* chosen);
void AddDiscover(CLI::App* app, Command* chosen);
void AddModels(CLI::App* app, Command* chosen);
void AddKeys(CLI::App* app, Command* chosen);
void AddStats(CLI::App* app, Command* chosen);
void AddStatus(CLI::App* app, Command* chosen);
void AddLines(CLI::App* app, Command* chosen);

/// A member of an answer as a cell: strings bare, null and absent as "-".
std::string Cell(const Json& json, const char* name);

/// The id of the provider with this name, as written or as in model names. Ids are understood too,
/// also of providers that are gone. NotFound: there is none.
absl::StatusOr<std::string> FindProvider(const Remote& remote, const std::string& name);

}  // namespace hotel::ctl

#endif  // SERVER_CTL_COMMANDS_H_
