// Configuration text: every outcome is a value or a list of one-line errors.
#include "libhotel/settings/config.h"

#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;

std::optional<std::string> Env(std::string_view name) {
  if (name == "SET") return "value";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hotel::fuzz::AsText(data, size);
  const hotel::settings::ReadResult result = hotel::settings::ReadConfig(text, "f.yaml", Env);
  for (const auto* list : {&result.errors, &result.warnings}) {
    for (const hotel::settings::ConfigError& error : *list) {
      Require(error.line >= 0 && !error.message.empty(), "an error has a place and says what");
      Require(error.ToString().find('\n') == std::string::npos, "an error is one line");
    }
  }
  const hotel::settings::ReadResult again = hotel::settings::ReadConfig(text, "f.yaml", Env);
  Require(again.errors.size() == result.errors.size(), "reading twice gives the same");
  if (const auto listen = hotel::settings::ParseListen(text)) {
    Require(listen->port >= 0 && listen->port <= 65535, "a port is a port");
  }
  if (const auto duration = hotel::settings::ParseDuration(text)) {
    Require(duration->count() >= 0, "durations are not negative");
    Require(hotel::settings::ParseDuration(hotel::settings::FormatDuration(*duration)) == duration,
            "a formatted duration reads as itself");
  }
  return 0;
}
