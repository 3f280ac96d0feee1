// The rows of `discovery` (facts b, l; R84).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

template <auto kField>
using Discovery = Field<&EngineSettings::discovery, kField>;
constexpr std::int64_t kMostPruneDays = 180;

}  // namespace

std::vector<Option> DiscoveryRows() {
  return {
      Row::Of<Discovery<&DiscoverySettings::enabled>>(
          "discovery.enabled", {"true", "true"},
          "Providers without a fixed list are asked for their models, at the times below. Off, "
          "that "
          "is done by hand only, and no provider is left out because it could not be asked.")
          .Env("DISCOVERY_ENABLED")
          .Flat("discovery_enabled")
          .GlobalOnly(),
      Row::Of<Discovery<&DiscoverySettings::interval>>(
          "discovery.interval", {"6h", "1h"},
          "Time between two scans of the providers' own lists of models. 0 = none.")
          .Between(0, kMonth)
          .Flat("discovery_interval")
          .Env("CACHE_REFRESH_INTERVAL")
          .Seconds()
          .GlobalOnly(),
      Row::Of<Discovery<&DiscoverySettings::on_startup>>(
          "discovery.on_startup", {"true", "true"},
          "A scan at the start, unless the last one was less than five minutes ago.")
          .Flat("discovery_on_startup")
          .GlobalOnly(),
      Row::Of<Discovery<&DiscoverySettings::on_provider_create>>(
          "discovery.on_provider_create", {"true", "true"},
          "A provider that is added or changed over the API is asked for its models.")
          .Flat("discovery_on_provider_create")
          .GlobalOnly(),
      Row::Of<Discovery<&DiscoverySettings::recheck_interval>>(
          "discovery.recheck_interval", {"60s", "60s"},
          "Time between two looks at providers whose last list could not be read. 0 = none.")
          .Between(0, kDay)
          .Flat("provider_recheck_interval")
          .Env("PROVIDER_RECHECK_INTERVAL")
          .Seconds()
          .GlobalOnly(),
      Row::Of<Discovery<&DiscoverySettings::prune_days>>(
          "discovery.prune_days", {"7", "7"},
          "Days after which a model that its provider no longer lists is deleted. 0 = never.")
          .Between(0, kMostPruneDays)
          .Flat("model_prune_days")
          .GlobalOnly(),
  };
}

}  // namespace hotel::settings
