// Providers, models and groups to look names up in.
#ifndef HOTEL_TESTS_UNIT_ROUTE_WORLD_H_
#define HOTEL_TESTS_UNIT_ROUTE_WORLD_H_

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/discovery.h"

#include "libhotel/route/resolver.h"

namespace hotel::route {

struct World {
  std::unique_ptr<SettingsSource> source = MakeFixedSettings(Settings::Defaults());
  std::shared_ptr<const Settings> settings = source->Current();
  std::unique_ptr<CircuitBreaker> breaker = MakeCircuitBreaker(source.get(), nullptr);
  std::vector<std::shared_ptr<const Provider>> providers;
  std::vector<Model> models;
  std::vector<FailoverGroup> groups;
  std::unique_ptr<VirtualRoutes> virtuals =
      std::make_unique<VirtualRoutes>(std::vector<VirtualModelSpec>());
  TimePoint now{std::chrono::hours(1)};
  Inventory* inventory = nullptr;

  const std::vector<std::string>* allowed = nullptr;

  void AddProvider(const std::string& name, bool enabled = true, KeyState key = KeyState::kKeyless,
                   bool fixed = false, const std::string& type = "openai") {
    Provider p;
    p.type = type;
    p.id = "id-" + name;
    p.name = name;
    p.routing_name = RoutingName(name);
    p.enabled = enabled;
    p.key_state = key;
    p.fixed_models = fixed;
    providers.push_back(std::make_shared<const Provider>(std::move(p)));
  }
  std::string AddModel(const std::string& provider, const std::string& model, bool enabled = true) {
    Model row;
    row.id = "m-" + provider + "-" + model;
    row.provider_id = "id-" + provider;
    row.model_id = model;
    row.enabled = enabled;
    models.push_back(row);
    return models.back().id;
  }
  FailoverGroup& AddGroup(const std::string& name, const std::vector<std::string>& ids) {
    FailoverGroup group;
    group.id = "g-" + name;
    group.display_model = name;
    for (const std::string& id : ids) group.entries.push_back({id, true});
    groups.push_back(group);
    return groups.back();
  }
  GroupSnapshot Snapshot() const { return GroupSnapshot(1, providers, models, groups); }
  Route Go(const std::string& name, Endpoint endpoint = Endpoint::kChatCompletions) const {
    return Resolve({name, endpoint, allowed, inventory}, Snapshot(), *settings, *breaker, *virtuals,
                   now);
  }
  void Virtual(std::vector<VirtualModelSpec> specs) {
    virtuals = std::make_unique<VirtualRoutes>(std::move(specs));
  }
  void Open(const std::string& provider, const std::string& model) const {
    Permit permit = breaker->AcquireDirect({"id-" + provider, model, provider}, now);
    permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, now);
  }
};

inline World Three() {
  World w;
  for (const char* name : {"a", "b", "c"}) w.AddProvider(name);
  w.AddGroup("glm-4.6", {w.AddModel("a", "z-ai/glm-4.6"), w.AddModel("b", "glm-4.6"),
                         w.AddModel("c", "zai-org/GLM-4.6")});
  return w;
}

/// Leaves these providers out.
class LeftOut final : public Inventory {
 public:
  explicit LeftOut(std::vector<std::string> ids) : ids_(std::move(ids)) {}
  bool IsLeftOut(std::string_view id) const noexcept override {
    return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
  }
  void NoteUnknownModel(std::string_view) noexcept override {}

 private:
  std::vector<std::string> ids_;
};

}  // namespace hotel::route

#endif  // HOTEL_TESTS_UNIT_ROUTE_WORLD_H_
