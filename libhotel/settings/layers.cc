#include "libhotel/settings/layers.h"

#include <algorithm>
#include <utility>

namespace hotel::settings {
namespace {

// Rows that only change a part of another row's list come first: a list written beside them, as a
// whole, says more.
void Apply(const std::vector<OptionWrite>& writes, EngineSettings* settings) {
  for (const bool views : {true, false}) {
    for (const OptionWrite& write : writes) {
      if (write.option->path.empty() == views) write.option->set(settings, write.value);
    }
  }
}

void DropSpan(EngineSettings* settings) {
  CircuitBreakerSettings& breaker = settings->circuit_breaker;
  if (breaker.scope == CircuitBreakerSettings::Scope::kProvider) breaker.span_models = 0;
}

EngineSettings MergeGlobal(const Layers& layers, std::size_t profile) {
  EngineSettings settings = ProfileDefaults(profile);
  Apply(layers.runtime, &settings);
  Apply(layers.written, &settings);
  Apply(layers.environment, &settings);
  return settings;
}

// What is about the whole route is the same for all providers, whatever their profiles.
EngineSettings MergeProvider(const Layers& layers, const ProviderLayer& own,
                             const EngineSettings& global) {
  EngineSettings settings = MergeGlobal(layers, own.profile.value_or(layers.profile));
  for (const Option& option : Options()) {
    if (!option.per_provider && !option.path.empty()) option.set(&settings, option.get(global));
  }
  Apply(own.writes, &settings);
  DropSpan(&settings);
  return settings;
}

}  // namespace

Settings Merge(const Layers& layers) {
  Settings settings;
  settings.global = MergeGlobal(layers, layers.profile);
  DropSpan(&settings.global);
  for (const auto& [name, own] : layers.providers) {
    if (!own.empty()) settings.providers[name] = MergeProvider(layers, own, settings.global);
  }
  return settings;
}

const OptionWrite* StrongestWrite(const Layers& layers, const Option& option) {
  for (const auto* writes : {&layers.environment, &layers.written, &layers.runtime}) {
    const OptionWrite* found = nullptr;
    for (const OptionWrite& write : *writes) {
      if (write.option == &option) return &write;
      const auto& parts = write.option->view_of;
      const bool changes =
          !option.path.empty() && std::find(parts.begin(), parts.end(), option.path) != parts.end();
      if (changes || SameThing(*write.option, option)) found = &write;
    }
    if (found != nullptr) return found;
  }
  return nullptr;
}

const OptionWrite* FindPin(const Layers& layers, const Option& option) {
  for (const auto* writes : {&layers.environment, &layers.written}) {
    for (const OptionWrite& write : *writes) {
      if (SameThing(*write.option, option)) return &write;
    }
  }
  return nullptr;
}

bool SameThing(const Option& a, const Option& b) noexcept {
  const auto is_view = [](const Option& view, const Option& of) {
    return !view.view_of[0].empty() && view.view_of[0] == of.path;
  };
  return &a == &b || is_view(a, b) || is_view(b, a);
}

}  // namespace hotel::settings
