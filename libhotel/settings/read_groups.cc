// The `failover_groups:` block.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/failover_group.h"

#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "libhotel/settings/sections.h"

namespace hotel::settings {
namespace {

constexpr std::size_t kMaxGroupName = 128;

std::vector<std::string> ProviderNames(const ProviderSection& providers) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : providers.by_routing_name) names.push_back(name);
  return names;
}

GroupSpec ReadGroup(Reader* reader, std::string name, const Node& node, const std::string& path,
                    const ProviderSection& providers) {
  GroupSpec group;
  group.name = std::move(name);
  const auto items = reader->Items(node, path, "[acme/gpt-4o, other/gpt-4o]");
  if (!items) return group;
  if (items->empty()) {
    reader->Error(node.line, path, "has no members; list at least one <provider>/<model>");
  }
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node& item = *(*items)[i];
    const auto text = reader->Scalar(item, Join(path, i), "<provider>/<model>");
    if (!text) continue;
    std::optional<std::string> member =
        CheckMember(reader, *text, item.line, Join(path, i), providers);
    if (!member) continue;
    const auto [first, added] = seen.emplace(*member, i);
    if (!added) {
      reader->Error(
          item.line, Join(path, i),
          fmt::format("is the same model as entry {}; a group holds a model once", first->second));
      continue;
    }
    group.members.push_back(*std::move(member));
  }
  return group;
}

}  // namespace

std::optional<std::string> CheckMember(Reader* reader, const Text& text, int line,
                                       const std::string& path, const ProviderSection& providers,
                                       bool must) {
  const std::size_t slash = text.value.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == text.value.size() ||
      !IsCleanText(text.value)) {
    reader->Error(
        line, path,
        fmt::format("{} does not name a model; write <provider>/<model>", Quoted(text.source)));
    return std::nullopt;
  }
  const std::string provider = RoutingName(std::string_view(text.value).substr(0, slash));
  const std::string model = text.value.substr(slash + 1);
  const auto it = providers.by_routing_name.find(provider);
  if (it == providers.by_routing_name.end()) {
    reader->Error(line, path,
                  fmt::format("names the provider {}, which is not under providers{}",
                              Quoted(provider), Suggestion(provider, ProviderNames(providers))));
    return std::nullopt;
  }
  const std::optional<std::vector<std::string>>& models = it->second.models;
  if (models && std::find(models->begin(), models->end(), model) == models->end()) {
    std::string problem =
        fmt::format("names the model {}, which is not in the list of provider {}{}", Quoted(model),
                    Quoted(provider), Suggestion(model, *models));
    if (must) {
      reader->Error(line, path, std::move(problem));
      return std::nullopt;
    }
    reader->Warn(line, path, problem + "; it is never asked");
  }
  return provider + "/" + model;
}

std::vector<GroupSpec> ReadGroups(Reader* reader, const Node& node,
                                  const ProviderSection& providers) {
  std::vector<GroupSpec> groups;
  std::map<std::string, int> seen;
  for (const Member* member : reader->Members(node, "failover_groups")) {
    const std::string path = Join("failover_groups", member->key);
    std::string name = base::LowerCase(base::Trim(member->key));
    if (name.empty() || base::CountCharacters(name) > kMaxGroupName || !IsCleanText(name)) {
      reader->Error(member->line, path,
                    "a group name has 1 to 128 characters and no control characters");
      continue;
    }
    // Requests are matched in lower case, so names that differ in case only are one name.
    const auto [first, added] = seen.emplace(name, member->line);
    if (!added) {
      reader->Error(member->line, path,
                    fmt::format("is the same group as the one in line {}; names do not differ by "
                                "case",
                                first->second));
      continue;
    }
    groups.push_back(ReadGroup(reader, std::move(name), *member->value, path, providers));
  }
  return groups;
}

}  // namespace hotel::settings
