#include <string>
#include <string_view>

#include <fmt/format.h>

#include "libhotel/settings/registry.h"

namespace hotel::settings {
namespace {

constexpr std::string_view kIntro =
    "# Options\n"
    "\n"
    "Generated from the table in `libhotel/settings/registry.cc`; a test keeps the two equal.\n"
    "\n"
    "An option can be written under its path in the configuration file or, where it has a runtime\n"
    "key, in the flat `settings:` block; not in both. Environment variables win over the file, "
    "the\n"
    "file wins over values set at run time, and those win over the defaults of the profile.\n"
    "\n"
    "`profile:` chooses the column of defaults, at the top level and, for the options marked *per\n"
    "provider*, under a provider. It is nothing but that: every key that somebody wrote wins over\n"
    "it, so a provider's own profile never overrules a key written for all providers.\n"
    "\n"
    "Options marked *per provider* may stand under `providers.<name>.` with the same path; what a\n"
    "provider does not write it takes from the global value, the environment included. A list "
    "that\n"
    "is written replaces the default list, and `[]` (in the environment: `none`) means none. An\n"
    "environment variable that is set but empty counts as not set. Where a runtime key takes "
    "other\n"
    "values than the path, they stand in brackets.\n";

std::string Code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

// The flat key, with its own range where that is another one than the path's.
std::string FlatKey(const Option& option) {
  std::string text = Code(option.flat_key);
  if (option.flat_key.empty() || option.path.empty()) return text;
  const std::string range = RangeText(option, true);
  return range == RangeText(option) ? text : fmt::format("{} ({})", text, range);
}

std::string Default(const Option& option, std::string_view text) {
  return option.type == OptionType::kStatuses && text.empty() ? "none" : Code(text);
}

}  // namespace

std::string OptionsMarkdown() {
  std::string page(kIntro);
  page += "\n| Option | Runtime key | Environment | Type | Range |";
  for (const std::string_view profile : kProfiles) page += fmt::format(" `{}` |", profile);
  page += " Per provider | Meaning |\n|---|---|---|---|---|";
  for (std::size_t i = 0; i < kProfiles.size(); ++i) page += "---|";
  page += "---|---|\n";
  for (const Option& option : Options()) {
    page += fmt::format("| {} | {} | {} | {} | {} |", Code(option.path), FlatKey(option),
                        Code(option.env), TypeText(option.type), RangeText(option));
    for (const std::string_view value : option.defaults) {
      page += fmt::format(" {} |", Default(option, value));
    }
    page += fmt::format(" {} | {} |\n", option.per_provider ? "yes" : "no", option.help);
  }
  return page;
}

}  // namespace hotel::settings
