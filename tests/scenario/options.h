// Settings as a configuration would make them: a profile's defaults with some options written.
#ifndef HOTEL_TESTS_SCENARIO_OPTIONS_H_
#define HOTEL_TESTS_SCENARIO_OPTIONS_H_

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hotel/settings.h"

#include "libhotel/settings/registry.h"

namespace hotel::scenario {

/// Path (or flat key) and value, spelled as in a configuration.
using Written = std::initializer_list<std::pair<std::string_view, std::string_view>>;

inline void Write(EngineSettings* engine, const Written& written) {
  for (const auto& [name, text] : written) {
    const settings::Option* option = settings::FindOption(name);
    const bool flat = option == nullptr;
    if (flat) option = settings::FindFlatOption(name);
    if (option == nullptr) throw std::runtime_error("no such option: " + std::string(name));
    const auto value = settings::ParseOption(*option, text, flat);
    if (!value.ok()) throw std::runtime_error(std::string(name) + value.status().ToString());
    option->set(engine, *value);
  }
}

inline Settings FailoverFirst(const Written& written = {}) {
  Settings settings;
  settings.global = settings::ProfileDefaults(0);
  Write(&settings.global, written);
  return settings;
}

inline Settings RetryFirst(const Written& written = {}) {
  Settings settings;
  settings.global = settings::ProfileDefaults(1);
  Write(&settings.global, written);
  return settings;
}

}  // namespace hotel::scenario

#endif  // HOTEL_TESTS_SCENARIO_OPTIONS_H_
