#include "libhotel/store/key_rules.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "absl/status/status.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/text_rules.h"

namespace hotel::store {
namespace {

constexpr std::size_t kMaxName = 100;
constexpr std::size_t kMaxProviders = 1000;

absl::Status CheckRange(std::string_view what, std::optional<std::int64_t> value, std::int64_t min,
                        std::int64_t max, std::string_view none) {
  if (!value || (*value >= min && *value <= max)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} is {} to {}, or null for {}", what, min, max, none));
}

}  // namespace

absl::StatusOr<KeySpec> NormalizeKey(KeySpec spec) {
  spec.name = base::Trim(spec.name);
  KeyLimits& limits = spec.limits;
  for (const absl::Status& status :
       {CheckCharacters("name", spec.name, 1, kMaxName),
        CheckRange("rate_limit_rps", limits.rps, 0, 10000, "the global limit"),
        CheckRange("rate_limit_burst", limits.burst, 1, 10000, "the global limit"),
        CheckRange("rate_limit_tpm", limits.tpm, 1, 100000000, "the global limit")}) {
    if (!status.ok()) return status;
  }
  const std::string lower = base::Lower(spec.name);
  if (std::find(kReservedKeyNames.begin(), kReservedKeyNames.end(), lower) !=
      kReservedKeyNames.end()) {
    return absl::InvalidArgumentError(
        fmt::format("the name '{}' is reserved; choose another", spec.name));
  }
  if (limits.has_budget && (limits.budget.amount < 0 || limits.budget.amount > KeyBudget::kMost)) {
    return absl::InvalidArgumentError("budget_usd is 0 to 10000000, or null for none");
  }
  if (limits.providers == nullptr) return spec;
  std::vector<std::string> providers = *limits.providers;
  std::sort(providers.begin(), providers.end());
  providers.erase(std::unique(providers.begin(), providers.end()), providers.end());
  if (providers.empty() || providers.size() > kMaxProviders) {
    return absl::InvalidArgumentError(fmt::format(
        "allowed_providers names 1 to {} providers, or is null for all of them", kMaxProviders));
  }
  for (const std::string& id : providers) {
    if (!base::IsUuid(id)) {
      return absl::InvalidArgumentError(
          fmt::format("allowed_providers: '{}' is no id of a provider", Quoted(id)));
    }
  }
  limits.providers = std::make_shared<const std::vector<std::string>>(std::move(providers));
  return spec;
}

}  // namespace hotel::store
