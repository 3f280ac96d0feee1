#include "server/presented_key.h"

#include <optional>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

/// The value of a field that occurs exactly once.
std::optional<std::string_view> Single(const HeaderList& headers, std::string_view name,
                                       bool* repeated) {
  std::optional<std::string_view> found;
  for (const auto& header : headers) {
    if (!base::EqualsIgnoreCase(header.name, name)) continue;
    *repeated = found.has_value();
    found = header.value;
  }
  return found;
}

}  // namespace

std::string_view PresentedKey(const HeaderList& headers) {
  bool repeated = false;
  if (const auto authorization = Single(headers, "authorization", &repeated)) {
    constexpr std::string_view kScheme = "bearer ";
    if (repeated || !base::EqualsIgnoreCase(authorization->substr(0, kScheme.size()), kScheme)) {
      return {};
    }
    return base::Trim(authorization->substr(kScheme.size()));
  }
  const auto key = Single(headers, "x-api-key", &repeated);
  return key && !repeated ? *key : std::string_view();
}

}  // namespace hotel::server
