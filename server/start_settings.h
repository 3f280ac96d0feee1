// What a start works with: the configuration file, the environment and the command line in one.
#ifndef SERVER_START_SETTINGS_H_
#define SERVER_START_SETTINGS_H_

#include <optional>

#include "libhotel/settings/config.h"
#include "server/command_line.h"
#include "server/front.h"

namespace hotel::server {

/// Reads the file and applies the command line. Problems are printed, one line each; nullopt when
/// one of them stands in the way.
std::optional<settings::Config> ReadSettings(const CommandLine& line);

/// The bounds of the door. Raises the number of descriptors this process may have open to what the
/// system allows, and leaves enough of them to the providers.
FrontOptions MakeFrontOptions(const settings::ServerConfig& server);

}  // namespace hotel::server

#endif  // SERVER_START_SETTINGS_H_
