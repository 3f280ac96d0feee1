// The configuration file: YAML text plus environment in, one checked value out.
#ifndef HOTEL_SETTINGS_CONFIG_H_
#define HOTEL_SETTINGS_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/hotel.h"
#include "hotel/provider_check.h"
#include "hotel/settings.h"
#include "hotel/types.h"
#include "hotel/virtual_key.h"
#include "hotel/virtual_model.h"

#include "libhotel/base/ip_network.h"
#include "libhotel/settings/layers.h"

namespace hotel::settings {

/// One thing that is wrong, printed as `FILE:LINE: dotted.path: what is wrong`.
struct ConfigError {
  std::string file;
  int line = 0;  ///< from 1; 0 = not tied to a line (environment, a file that cannot be read)
  std::string path;
  std::string message;
  std::string ToString() const;
};

/// The `server:` block.
struct ServerConfig {
  std::string listen_host = "127.0.0.1";
  int listen_port = 8081;
  std::string data_dir = "./data";
  bool require_virtual_key = true;
  Duration drain_delay{};  ///< how long connections are still accepted once it is to stop
  Duration drain_timeout = std::chrono::seconds(10);  ///< for running answers, behind that
  bool log_requests = true;    ///< one log line per finished request, with its trail
  bool store_requests = true;  ///< one row of the request log in the database for each
  std::size_t max_request_size = std::size_t{50} << 20;   ///< bytes of a body
  std::size_t max_buffered_bytes = std::size_t{1} << 30;  ///< bytes of all bodies together
  std::size_t max_head_size = std::size_t{32} << 10;      ///< bytes of a head
  std::size_t max_headers = 100;
  Duration head_timeout = std::chrono::seconds(10);  ///< from its first byte
  Duration body_timeout = std::chrono::seconds(30);  ///< without progress; ten times that in all
  Duration client_write_timeout = std::chrono::seconds(60);  ///< client takes no byte of an answer
  Duration keep_alive_timeout = std::chrono::seconds(75);    ///< between two requests
  std::size_t max_connections = 10000;
  std::size_t event_loops = 1;  ///< that carry connections to providers
  AddressPolicy addresses;
  /// Proxies whose X-Forwarded-For is believed.
  std::vector<base::IpNetwork> trusted_proxies{};
};

/// A key clients present to the sidecar.
struct VirtualKeySpec {
  std::string place{};  ///< "FILE:LINE: path", for what others find wrong with it
  std::string name;
  Secret key;
  KeyLimits limits;  ///< without providers
  /// In routing form; nullopt = every provider.
  std::optional<std::vector<std::string>> allowed_providers{};
};

/// Everything a file says, defaults filled in, references checked.
struct Config {
  ServerConfig server;
  Layers layers;      ///< what was written, by whom
  Settings settings;  ///< what comes out of it
  std::vector<ProviderSpec> providers;
  std::vector<GroupSpec> groups;
  std::vector<VirtualModelSpec> virtual_models;  ///< base::CheckVirtualModels finds nothing wrong
  std::vector<VirtualKeySpec> virtual_keys;
};

struct ReadResult {
  Config config;                    ///< meaningful when `errors` is empty
  std::vector<ConfigError> errors;  ///< in file order; all of them, not just the first
  std::vector<ConfigError> warnings;
};

/// Looks up an environment variable; nullopt = not set.
using EnvLookup = std::function<std::optional<std::string>(std::string_view)>;

/// Judges where a provider may be, given the file's own address policy: the transport's knowledge,
/// not the reader's.
using ProviderCheck =
    std::function<std::vector<ProviderProblem>(const ProviderSpec&, const AddressPolicy&)>;

/// Reads configuration text. `file` is the name used in errors. Touches nothing but `env` and
/// `check`.
/// `${VAR}`, `${VAR:-default}` and `$$` are expanded in scalar values after parsing; an unset
/// variable without default is an error. What `check` (may be null) says of a provider is an error
/// or a warning like the others, at the line of the field it names. Bounded: at most
/// kMaxConfigBytes of text, and at most kMaxConfigErrors errors are kept.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxConfigErrors = 1000;
ReadResult ReadConfig(std::string_view text, std::string_view file, const EnvLookup& env,
                      const ProviderCheck& check = nullptr);

/// Reads a file; a file that cannot be read is an error with line 0.
ReadResult ReadConfigFile(const std::string& path, const EnvLookup& env,
                          const ProviderCheck& check = nullptr);

/// The process environment.
EnvLookup ProcessEnv();

/// "host:port", "[::1]:port", ":port" (every IPv4 address) or "port" (127.0.0.1) into its parts;
/// nullopt when it is none of them. The host comes without brackets. Port 0 = the system picks one.
struct HostPort {
  std::string host;
  int port = 0;
};
std::optional<HostPort> ParseListen(std::string_view text);

/// True for "localhost", 127.0.0.0/8 and ::1: only programs on this machine reach such an address.
bool IsLoopbackHost(std::string_view host) noexcept;

/// "250ms", "1m30s", "24h", "0", "0s"; units ns, us, ms, s, m, h, each a decimal number. nullopt
/// for anything else, negatives included.
std::optional<Duration> ParseDuration(std::string_view text);
/// The one spelling that is used in messages and documents: "1m30s", "1.5s", "0s". ParseDuration
/// reads it back. REQUIRES: duration >= 0.
std::string FormatDuration(Duration duration);

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_CONFIG_H_
