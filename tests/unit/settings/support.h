// Reading a configuration from a string, for the tests of this folder.
#ifndef HOTEL_TESTS_UNIT_SETTINGS_SUPPORT_H_
#define HOTEL_TESTS_UNIT_SETTINGS_SUPPORT_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libhotel/settings/config.h"

namespace hotel::settings {

using Env = std::map<std::string, std::string, std::less<>>;

inline EnvLookup Lookup(Env env) {
  return [env = std::move(env)](std::string_view name) -> std::optional<std::string> {
    const auto it = env.find(name);
    if (it == env.end()) return std::nullopt;
    return it->second;
  };
}

inline ReadResult Read(std::string_view text, Env env = {}) {
  return ReadConfig(text, "h.yaml", Lookup(std::move(env)));
}

inline std::vector<std::string> Lines(const std::vector<ConfigError>& errors) {
  std::vector<std::string> lines;
  for (const ConfigError& error : errors) lines.push_back(error.ToString());
  return lines;
}

/// All errors of a text, one a line; "" when there are none.
inline std::string Errors(std::string_view text, Env env = {}) {
  std::string all;
  for (const std::string& line : Lines(Read(text, std::move(env)).errors)) {
    all += all.empty() ? line : "\n" + line;
  }
  return all;
}

/// A provider block to put other things behind: lines 1 to 4.
inline constexpr std::string_view kAcme =
    "providers:\n"
    "  acme:\n"
    "    type: openai\n"
    "    base_url: https://api.acme.example/v1\n";

inline std::string Acme(std::string_view more) { return std::string(kAcme) + std::string(more); }

}  // namespace hotel::settings

#endif  // HOTEL_TESTS_UNIT_SETTINGS_SUPPORT_H_
