// The options of a running hotel as a list for people and for the API.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/live_settings.h"

#include "libhotel/settings/layered_settings.h"

namespace hotel::settings {
namespace {

std::string PlaceOf(const OptionWrite& write, const std::string& file) {
  return write.where == OptionWrite::Where::kFile ? fmt::format("{}:{}", file, write.line)
                                                  : write.path;
}

SettingOrigin OriginOf(const OptionWrite& write) noexcept {
  switch (write.where) {
    case OptionWrite::Where::kRuntime:
      return SettingOrigin::kRuntime;
    case OptionWrite::Where::kFile:
      return SettingOrigin::kFile;
    case OptionWrite::Where::kEnvironment:
      return SettingOrigin::kEnvironment;
  }
  return SettingOrigin::kDefault;
}

}  // namespace

std::vector<SettingInfo> LayeredSettings::List() const {
  const std::shared_ptr<const State> state = Snapshot();
  const Layers& layers = state->layers;
  const EngineSettings profile = ProfileDefaults(layers.profile);
  const EngineSettings built_in = ProfileDefaults(0);
  std::vector<SettingInfo> list;
  for (const Option& option : Options()) {
    const OptionValue value = option.get(state->settings.global);
    SettingInfo info;
    info.name = option.name();
    info.flat_key = option.flat_key;
    info.value = FormatOption(option, value);
    if (!option.flat_key.empty()) info.flat_value = FormatOption(option, value, true);
    info.default_value = FormatOption(option, option.get(profile));
    if (const OptionWrite* write = StrongestWrite(layers, option)) {
      info.origin = OriginOf(*write);
      if (info.origin != SettingOrigin::kRuntime) info.where = PlaceOf(*write, layers.file);
    } else if (info.default_value != FormatOption(option, option.get(built_in))) {
      info.origin = SettingOrigin::kProfile;
      info.where = kProfiles[layers.profile];
    }
    info.pinned = FindPin(layers, option) != nullptr;
    info.per_provider = option.per_provider;
    info.type = TypeText(option.type);
    info.range = RangeText(option);
    info.help = option.help;
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace hotel::settings

namespace hotel {

const char* SettingOriginName(SettingOrigin origin) noexcept {
  switch (origin) {
    case SettingOrigin::kDefault:
      return "default";
    case SettingOrigin::kProfile:
      return "profile";
    case SettingOrigin::kRuntime:
      return "runtime";
    case SettingOrigin::kFile:
      return "file";
    case SettingOrigin::kEnvironment:
      return "environment";
  }
  return "";
}

}  // namespace hotel
