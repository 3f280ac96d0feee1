// What a request costs in decisions: the name to its candidates, and the machine from start to end.
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "hotel/defaults.h"
#include "hotel/failover_group.h"
#include "hotel/settings.h"

#include "libhotel/decide/attempt_machine.h"
#include "libhotel/route/resolver.h"

namespace hotel {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};

/// One stream over the first of two candidates.
void OneGoodRequest(benchmark::State& state) {
  const Settings settings = Settings::Defaults();
  std::vector<decide::Action> actions;
  for (auto _ : state) {
    decide::Plan plan;
    plan.candidates = {{&settings.global}, {&settings.global}};
    plan.settings = &settings.global;
    plan.streaming = true;
    plan.arrival = kNow;
    decide::AttemptMachine machine(std::move(plan));
    actions.clear();
    machine.Handle(decide::Begin{}, kNow, &actions);
    machine.Handle(decide::Admitted{0}, kNow, &actions);
    machine.Handle(decide::HeadSeen{0, 200}, kNow, &actions);
    machine.Handle(decide::FirstOutput{0}, kNow, &actions);
    machine.Handle(decide::Ended{0, {decide::AttemptEnd::Kind::kAnswer, 200}}, kNow, &actions);
    if (!machine.finished()) state.SkipWithError("the request is not over");
  }
}
BENCHMARK(OneGoodRequest);

void Resolve(benchmark::State& state) {
  const auto source = MakeFixedSettings(Settings::Defaults());
  const auto settings = source->Current();
  const auto breaker = MakeCircuitBreaker(source.get(), nullptr);
  std::vector<std::shared_ptr<const Provider>> providers;
  std::vector<Model> models;
  std::vector<FailoverGroup> groups;
  for (int i = 0; i < 3; ++i) {
    Provider provider;
    provider.id = provider.name = provider.routing_name = "vendor" + std::to_string(i);
    provider.key_state = KeyState::kKeyless;
    providers.push_back(std::make_shared<const Provider>(std::move(provider)));
  }
  for (int i = 0; i < 100; ++i) {
    FailoverGroup group;
    group.id = group.display_model = "group" + std::to_string(i);
    for (const auto& provider : providers) {
      models.push_back({group.id + provider->id, provider->id, "large-" + std::to_string(i), true});
      group.entries.push_back({models.back().id, true});
    }
    groups.push_back(std::move(group));
  }
  const GroupSnapshot snapshot(1, providers, models, groups);
  route::VirtualRoutes virtuals({});
  for (auto _ : state) {
    const route::Route route =
        route::Resolve("hotel/group50", snapshot, *settings, *breaker, virtuals, kNow);
    if (route.candidates.size() != 3) state.SkipWithError("candidates are missing");
  }
}
BENCHMARK(Resolve);

}  // namespace
}  // namespace hotel
