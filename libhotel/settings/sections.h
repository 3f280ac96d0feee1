// The blocks of a configuration file, one reader each. config.cc calls them in order.
#ifndef HOTEL_SETTINGS_SECTIONS_H_
#define HOTEL_SETTINGS_SECTIONS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/settings.h"

#include "libhotel/settings/config.h"
#include "libhotel/settings/document.h"
#include "libhotel/settings/reader.h"
#include "libhotel/settings/registry.h"

namespace hotel::settings {

/// One option as somebody wrote it.
struct OptionWrite {
  const Option* option = nullptr;
  OptionValue value;
  int line = 0;
  std::string path;  ///< as written, for messages
};

/// Reads the block `block` of dotted options ("timeouts", or below a provider) from `node`; `path`
/// is its full path for messages.
void ReadOptionBlock(Reader* reader, const Node& node, const std::string& block,
                     const std::string& path, bool provider, std::vector<OptionWrite>* writes);
/// Reads the flat `settings:` block.
void ReadFlatBlock(Reader* reader, const Node& node, std::vector<OptionWrite>* writes);
/// Reads a `profile:` and returns its column.
std::optional<std::size_t> ReadProfile(Reader* reader, const Node& node, const std::string& path);

/// Profile, then the flat block, then dotted paths, then the environment. Reports options written
/// in both spellings and lists that overlap.
EngineSettings GlobalSettings(Reader* reader, std::size_t profile,
                              const std::vector<OptionWrite>& flat,
                              const std::vector<OptionWrite>& dotted);
/// `global` with the provider's own options on top.
EngineSettings ProviderSettings(Reader* reader, const EngineSettings& global,
                                const std::vector<OptionWrite>& own);

/// `server:`.
void ReadServer(Reader* reader, const Node& node, ServerConfig* server);

/// What `providers:` says: the specs, and for later checks every name that was seen, readable or
/// not (a provider with a mistake in it is no unknown provider).
struct ProviderSection {
  struct Entry {
    int line = 0;
    std::optional<std::vector<std::string>> models;
    std::vector<OptionWrite> options;
  };
  std::vector<ProviderSpec> specs;
  std::map<std::string, Entry, std::less<>> by_routing_name;
};
void ReadProviders(Reader* reader, const Node& node, bool allow_http, ProviderSection* section);

/// `failover_groups:`.
std::vector<GroupSpec> ReadGroups(Reader* reader, const Node& node,
                                  const ProviderSection& providers);
/// `virtual_keys:`.
std::vector<VirtualKeySpec> ReadVirtualKeys(Reader* reader, const Node& node);

/// Whether a name or model id is free of control characters and of white space at its ends.
bool IsCleanText(std::string_view text) noexcept;

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_SECTIONS_H_
