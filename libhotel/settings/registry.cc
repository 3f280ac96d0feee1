#include "libhotel/settings/registry.h"

#include <algorithm>
#include <set>

#include "libhotel/base/strings.h"
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
const std::vector<Option>& Options() {
  static const std::vector<Option>* const options = [] {
    auto* rows = new std::vector<Option>;
    for (const auto block : {BreakerRows, RetryRows, FailoverRows, LimitRows, TimeoutRows, LogRows,
                             ClientLimitRows, DiscoveryRows}) {
      for (const Option& row : block()) rows->push_back(row);
    }
    return rows;
  }();
  return *options;
}

const Option* FindOption(std::string_view path) noexcept {
  for (const Option& option : Options()) {
    if (!path.empty() && option.path == path) return &option;
  }
  return nullptr;
}

const Option* FindFlatOption(std::string_view flat_key) noexcept {
  for (const Option& option : Options()) {
    if (!flat_key.empty() && option.flat_key == flat_key) return &option;
  }
  return nullptr;
}

std::vector<std::string> OptionNames(std::string_view block, bool provider) {
  std::set<std::string> names;
  for (const Option& option : Options()) {
    std::string_view rest = option.path;
    if (rest.empty() || (provider && !option.per_provider)) continue;
    if (!block.empty()) {
      if (!base::StartsWith(rest, block) || rest.size() <= block.size() ||
          rest[block.size()] != '.') {
        continue;
      }
      rest.remove_prefix(block.size() + 1);
    }
    names.insert(std::string(rest.substr(0, rest.find('.'))));
  }
  return {names.begin(), names.end()};
}

EngineSettings ProfileDefaults(std::size_t profile) {
  EngineSettings settings;
  for (const Option& option : Options()) {
    // Rows without a field of their own only describe what other rows have set already.
    if (option.path.empty()) continue;
    option.set(&settings, *ParseOption(option, option.defaults[profile], false));
  }
  return settings;
}

}  // namespace hotel::settings
