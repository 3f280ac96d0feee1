// The `virtual_models:` block.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/types.h"
#include "hotel/virtual_model.h"

#include "libhotel/base/strings.h"
#include "libhotel/base/virtual_models.h"
#include "libhotel/settings/sections.h"

namespace hotel::settings {
namespace {

constexpr std::size_t kMaxSourceBytes = 256;

// Where a target stands, for what is found out later. A target that could not be read is left out.
struct TargetPlace {
  int line = 0;
  std::string path;
  std::string source_text;
};
struct ModelPlace {
  int line = 0;
  std::string path;
  std::vector<TargetPlace> targets;
  bool whole = true;  ///< every target could be read
};

std::optional<VirtualModelSpec::Strategy> ReadStrategy(Reader* reader, const Node& node,
                                                       const std::string& path) {
  const auto text = reader->Scalar(node, path, "failover or round_robin");
  if (!text) return std::nullopt;
  if (text->value == "failover") return VirtualModelSpec::Strategy::kFailover;
  if (text->value == "round_robin") return VirtualModelSpec::Strategy::kRoundRobin;
  reader->Error(
      node.line, path,
      fmt::format("{} is no strategy; write failover or round_robin", Quoted(text->source)));
  return std::nullopt;
}

std::optional<int> ReadWeight(Reader* reader, const Node& node, const std::string& path) {
  const auto text = reader->Scalar(node, path, "a whole number such as 2");
  if (!text) return std::nullopt;
  int weight = 0;
  bool digits = !text->value.empty() && text->value.size() <= 4;
  for (const char c : text->value) {
    digits = digits && base::IsAsciiDigit(c);
    if (digits) weight = weight * 10 + (c - '0');
  }
  if (!digits || weight < 1 || weight > base::kMaxVirtualWeight) {
    reader->Error(node.line, path,
                  fmt::format("{} is no weight; write a whole number from 1 to {}",
                              Quoted(text->source), base::kMaxVirtualWeight));
    return std::nullopt;
  }
  return weight;
}

std::optional<VirtualTarget> ReadTarget(Reader* reader, const Node& node, TargetPlace* place) {
  static const std::vector<std::string> kKnown = {"model", "provider", "weight"};
  const std::string& path = place->path;
  if (node.kind != Node::Kind::kMapping) {
    reader->Error(node.line, path, "is no target; write {model: <provider>/<model>}");
    return std::nullopt;
  }
  VirtualTarget target;
  bool good = true;
  bool has_model = false;
  for (const Member* member : reader->Members(node, path)) {
    const std::string member_path = Join(path, member->key);
    if (member->key == "model") {
      has_model = true;
      auto model = reader->NonEmpty(*member->value, member_path, "<provider>/<model>");
      good = good && model.has_value();
      if (model) target.model = *std::move(model);
      place->source_text = member->value->text;
    } else if (member->key == "provider") {
      auto provider = reader->NonEmpty(*member->value, member_path, "the name of a provider");
      good = good && provider.has_value();
      if (provider) target.provider = RoutingName(*provider);
    } else if (member->key == "weight") {
      const std::optional<int> weight = ReadWeight(reader, *member->value, member_path);
      good = good && weight.has_value();
      if (weight) target.weight = *weight;
    } else {
      reader->UnknownKey(*member, path, kKnown);
    }
  }
  if (!has_model) {
    reader->Error(node.line, path, "has no model; write model: <provider>/<model>");
    return std::nullopt;
  }
  if (!good) return std::nullopt;
  return target;
}

void ReadTargets(Reader* reader, const Node& node, const std::string& path, VirtualModelSpec* spec,
                 ModelPlace* place) {
  const auto items = reader->Items(node, path, "[{model: acme/gpt-4o}, {model: other/gpt-4o}]");
  if (!items) {
    place->whole = false;
    return;
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    TargetPlace target_place{(*items)[i]->line, Join(path, i), ""};
    std::optional<VirtualTarget> target = ReadTarget(reader, *(*items)[i], &target_place);
    if (!target) {
      place->whole = false;
      continue;
    }
    spec->targets.push_back(*std::move(target));
    place->targets.push_back(std::move(target_place));
  }
}

std::optional<VirtualModelSpec> ReadModel(Reader* reader, const Node& node, ModelPlace* place) {
  static const std::vector<std::string> kKnown = {"source", "strategy", "targets"};
  if (node.kind != Node::Kind::kMapping) {
    reader->Error(node.line, place->path,
                  "is no virtual model; write {source: ..., strategy: ..., targets: [...]}");
    return std::nullopt;
  }
  VirtualModelSpec spec;
  bool good = true;
  for (const Member* member : reader->Members(node, place->path)) {
    const std::string path = Join(place->path, member->key);
    if (member->key == "source") {
      auto source = reader->NonEmpty(*member->value, path, "the name that clients ask for");
      if (source && (source->size() > kMaxSourceBytes || !IsCleanText(*source))) {
        reader->Error(member->value->line, path,
                      "is no name; write up to 256 bytes without control characters");
        source.reset();
      }
      good = good && source.has_value();
      if (source) spec.source = *std::move(source);
    } else if (member->key == "strategy") {
      const auto strategy = ReadStrategy(reader, *member->value, path);
      if (strategy) spec.strategy = *strategy;
    } else if (member->key == "targets") {
      ReadTargets(reader, *member->value, path, &spec, place);
    } else {
      reader->UnknownKey(*member, place->path, kKnown);
    }
  }
  if (!good) return std::nullopt;
  return spec;
}

// Names of real models in routing form, before anything is compared.
void UseRoutingNames(const ProviderSection& providers, std::vector<VirtualModelSpec>* specs) {
  const base::VirtualModels as_written(*specs);
  for (VirtualModelSpec& spec : *specs) {
    for (VirtualTarget& target : spec.targets) {
      const std::size_t slash = target.model.find('/');
      if (!target.provider.empty() || slash == std::string::npos) continue;
      if (as_written.Find(target.model) != nullptr) continue;
      const std::string provider = RoutingName(std::string_view(target.model).substr(0, slash));
      if (providers.by_routing_name.count(provider) == 0) continue;
      target.model = provider + target.model.substr(slash);
    }
  }
}

// Real models must be of known providers; virtual ones lead there.
void CheckRealTargets(Reader* reader, const std::vector<VirtualModelSpec>& specs,
                      const std::vector<ModelPlace>& places, const ProviderSection& providers) {
  const base::VirtualModels models(specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (std::size_t j = 0; j < specs[i].targets.size(); ++j) {
      const VirtualTarget& target = specs[i].targets[j];
      if (models.Next(specs[i], target) != nullptr) continue;
      const TargetPlace& place = places[i].targets[j];
      const std::string name = base::TargetName(target);
      if (base::StartsWith(name, "hotel/")) {
        reader->Error(place.line, place.path,
                      "a failover group is no target; write its members as targets");
        continue;
      }
      CheckMember(reader, {name, place.source_text}, place.line, place.path, providers,
                  /*must=*/false);
    }
  }
}

}  // namespace

std::vector<VirtualModelSpec> ReadVirtualModels(Reader* reader, const Node& node,
                                                const ProviderSection& providers) {
  std::vector<VirtualModelSpec> specs;
  std::vector<ModelPlace> places;
  if (node.kind == Node::Kind::kNull) return specs;
  const auto items =
      reader->Items(node, "virtual_models",
                    "[{source: chat, strategy: failover, targets: [{model: acme/gpt-4o}]}]");
  if (!items) return specs;
  for (std::size_t i = 0; i < items->size(); ++i) {
    ModelPlace place{(*items)[i]->line, Join("virtual_models", i), {}, true};
    std::optional<VirtualModelSpec> spec = ReadModel(reader, *(*items)[i], &place);
    if (!spec) continue;
    specs.push_back(*std::move(spec));
    places.push_back(std::move(place));
  }
  UseRoutingNames(providers, &specs);
  for (const base::VirtualModelProblem& problem : base::CheckVirtualModels(specs)) {
    const ModelPlace& place = places[problem.model];
    if (problem.target) {
      const TargetPlace& target = place.targets[*problem.target];
      reader->Error(target.line, target.path, problem.message);
    } else if (place.whole) {
      // With a target missing that could not be read the rest may only look wrong.
      reader->Error(place.line, place.path, problem.message);
    }
  }
  CheckRealTargets(reader, specs, places, providers);
  return specs;
}

}  // namespace hotel::settings
