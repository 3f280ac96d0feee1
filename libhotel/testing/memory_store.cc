#include "hotel/testing/memory_store.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hotel::testing {
namespace {

template <typename T>
T ValueOrThrow(absl::StatusOr<T> result, const std::string& what) {
  if (!result.ok()) {
    throw std::runtime_error(what + ": " + std::string(result.status().message()));
  }
  return *std::move(result);
}

}  // namespace

std::unique_ptr<Store> MakeMemoryStore(const Clock* clock) {
  StoreOptions options;
  options.path = ":memory:";
  options.master_key = Secret("a master key for tests, 40 bytes long...");
  return ValueOrThrow(OpenSqliteStore(options, clock), "cannot open the store");
}

std::string AddProvider(Store& store, const std::string& name, const std::string& api_key,
                        const std::string& type) {
  ProviderSpec spec;
  spec.name = name;
  spec.type = type;
  spec.base_url = "https://" + RoutingName(name) + ".test/v1";
  spec.api_key = Secret(api_key);
  return ValueOrThrow(store.UpsertProvider(spec), "cannot add provider " + name);
}

void AddGroup(Store& store, const std::string& group, const std::vector<std::string>& members) {
  std::vector<std::string> model_uuids;
  for (const std::string& member : members) {
    const std::size_t slash = member.find('/');
    if (slash == std::string::npos) throw std::runtime_error("not <provider>/<model>: " + member);
    const auto provider = store.Snapshot()->FindProvider(RoutingName(member.substr(0, slash)));
    if (provider == nullptr) throw std::runtime_error("unknown provider: " + member);
    model_uuids.push_back(ValueOrThrow(store.EnsureModel(provider->id, member.substr(slash + 1)),
                                       "cannot add model " + member));
  }
  ValueOrThrow(store.UpsertGroup(group, model_uuids), "cannot add group " + group);
}

}  // namespace hotel::testing
