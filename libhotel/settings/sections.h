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
#include "libhotel/settings/layers.h"
#include "libhotel/settings/reader.h"
#include "libhotel/settings/registry.h"

namespace hotel::settings {

/// Reads the block `block` of dotted options ("timeouts", or below a provider) from `node`; `path`
/// is its full path for messages.
void ReadOptionBlock(Reader* reader, const Node& node, const std::string& block,
                     const std::string& path, bool provider, std::vector<OptionWrite>* writes);
/// Reads the flat `settings:` block.
void ReadFlatBlock(Reader* reader, const Node& node, std::vector<OptionWrite>* writes);
/// Reads a `profile:` and returns its column.
std::optional<std::size_t> ReadProfile(Reader* reader, const Node& node, const std::string& path);

/// Reads the variables of the environment that stand for options.
std::vector<OptionWrite> ReadEnvironment(Reader* reader);
/// Reports options that are written in both of their spellings.
void CheckWrittenTwice(Reader* reader, const std::vector<OptionWrite>& flat,
                       const std::vector<OptionWrite>& dotted);

/// `server:`.
void ReadServer(Reader* reader, const Node& node, ServerConfig* server);

/// What `providers:` says: the specs, and for later checks every name that was seen, readable or
/// not (a provider with a mistake in it is no unknown provider).
struct ProviderSection {
  struct Entry {
    int line = 0;
    std::optional<std::vector<std::string>> models;
    ProviderLayer layer;
  };
  std::vector<ProviderSpec> specs;
  std::map<std::string, Entry, std::less<>> by_routing_name;
};
/// `check` may be null.
void ReadProviders(Reader* reader, const Node& node, const AddressPolicy& addresses,
                   const ProviderCheck& check, ProviderSection* section);

/// "<provider>/<model>" with the provider in routing form, when both are there; nullopt when an
/// error was added. A model that its provider's fixed list does not have is an error when it `must`
/// exist, and a warning otherwise (B17).
std::optional<std::string> CheckMember(Reader* reader, const Text& text, int line,
                                       const std::string& path, const ProviderSection& providers,
                                       bool must = true);
/// `failover_groups:`.
std::vector<GroupSpec> ReadGroups(Reader* reader, const Node& node,
                                  const ProviderSection& providers);
/// `virtual_models:`.
std::vector<VirtualModelSpec> ReadVirtualModels(Reader* reader, const Node& node,
                                                const ProviderSection& providers);
/// `virtual_keys:`.
std::vector<VirtualKeySpec> ReadVirtualKeys(Reader* reader, const Node& node);

/// Whether a name or model id is free of control characters and of white space at its ends.
bool IsCleanText(std::string_view text) noexcept;

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_SECTIONS_H_
