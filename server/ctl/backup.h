// `hotelctl backup` and `hotelctl restore`: copies of a data directory's database. They ask no
// sidecar: the one works while one runs, the other wants none to.
#ifndef SERVER_CTL_BACKUP_H_
#define SERVER_CTL_BACKUP_H_

#include <functional>
#include <ostream>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"

namespace hotel::ctl {

/// A command that needs neither a sidecar nor a token.
using OfflineCommand = std::function<absl::Status(std::ostream& out)>;

void AddBackup(CLI::App* app, OfflineCommand* chosen);
void AddRestore(CLI::App* app, OfflineCommand* chosen);

}  // namespace hotel::ctl

#endif  // SERVER_CTL_BACKUP_H_
