#include "hotel/defaults.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "hotel/settings.h"

#include "libhotel/settings/registry.h"

namespace hotel {
namespace {

class FixedSettings : public SettingsSource {
 public:
  explicit FixedSettings(Settings settings)
      : settings_(std::make_shared<const Settings>(std::move(settings))) {}
  std::shared_ptr<const Settings> Current() const noexcept override { return settings_; }
  std::uint64_t Generation() const noexcept override { return 1; }

 private:
  const std::shared_ptr<const Settings> settings_;
};

}  // namespace

const EngineSettings& Settings::For(std::string_view provider_routing_name) const noexcept {
  const auto it = providers.find(provider_routing_name);
  return it == providers.end() ? global : it->second;
}

Settings Settings::Defaults() {
  Settings settings;
  settings.global = settings::ProfileDefaults(0);
  return settings;
}

std::unique_ptr<SettingsSource> MakeFixedSettings(Settings settings) {
  return std::make_unique<FixedSettings>(std::move(settings));
}

}  // namespace hotel
