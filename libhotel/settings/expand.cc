#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "libhotel/settings/reader.h"

namespace hotel::settings {
namespace {

bool IsVariableName(std::string_view name) noexcept {
  if (name.empty() || base::IsAsciiDigit(name.front())) return false;
  for (const char c : name) {
    if (!base::IsAsciiAlnum(c) && c != '_') return false;
  }
  return true;
}

// `reference` is what stands between the braces.
bool ExpandOne(std::string_view reference, const EnvLookup& env, std::string* value,
               std::string* problem) {
  const std::size_t mark = reference.find(":-");
  const std::string_view name = reference.substr(0, mark);
  if (!IsVariableName(name)) {
    *problem =
        "holds ${...} with something that is no variable name; write ${NAME}, or $$ for a dollar";
    return false;
  }
  const std::optional<std::string> found = env(name);
  if (mark != std::string_view::npos && (!found || found->empty())) {
    value->append(reference.substr(mark + 2));
  } else if (found) {
    value->append(*found);
  } else {
    *problem = fmt::format(
        "the environment variable {} is not set; set it, or write ${{{}:-default}}", name, name);
    return false;
  }
  return true;
}

}  // namespace

bool ExpandVariables(std::string_view text, const EnvLookup& env, std::string* value,
                     std::string* problem) {
  value->clear();
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    value->append(text.substr(0, dollar));
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    if (base::StartsWith(text, "$")) {
      *value += '$';
      text.remove_prefix(1);
    } else if (base::StartsWith(text, "{")) {
      const std::size_t end = text.find('}');
      if (end == std::string_view::npos) {
        *problem = "holds ${ without a closing brace; write ${NAME}, or $$ for a dollar";
        return false;
      }
      if (!ExpandOne(text.substr(1, end - 1), env, value, problem)) return false;
      text.remove_prefix(end + 1);
    } else {
      *value += '$';
    }
  }
  return true;
}

}  // namespace hotel::settings
