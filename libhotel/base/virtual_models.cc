#include "libhotel/base/virtual_models.h"

#include <set>
#include <utility>

namespace hotel::base {
namespace {

class Expansion {
 public:
  Expansion(const VirtualModels& models, const PickFirst& pick) : models_(models), pick_(pick) {}

  // At most kMaxVirtualDepth deep. A model that was met before adds nothing: its targets are there.
  void Visit(const VirtualModelSpec& spec, bool chosen) {
    if (!met_.insert(&spec).second) return;
    std::size_t first = 0;
    if (spec.strategy == VirtualModelSpec::Strategy::kRoundRobin) first = pick_(spec, chosen);
    Add(spec, spec.targets[first], chosen);
    for (std::size_t i = 0; i < spec.targets.size(); ++i) {
      if (i != first) Add(spec, spec.targets[i], false);
    }
  }

  std::vector<std::string> Take() { return std::move(names_); }

 private:
  void Add(const VirtualModelSpec& spec, const VirtualTarget& target, bool chosen) {
    if (const VirtualModelSpec* next = models_.Next(spec, target)) return Visit(*next, chosen);
    std::string name = TargetName(target);
    if (seen_.insert(name).second) names_.push_back(std::move(name));
  }

  const VirtualModels& models_;
  const PickFirst& pick_;
  std::set<const VirtualModelSpec*> met_;
  std::set<std::string> seen_;
  std::vector<std::string> names_;
};

}  // namespace

std::string TargetName(const VirtualTarget& target) {
  return target.provider.empty() ? target.model : target.provider + "/" + target.model;
}

VirtualModels::VirtualModels(std::vector<VirtualModelSpec> specs) : specs_(std::move(specs)) {
  for (std::size_t i = 0; i < specs_.size(); ++i) by_source_.emplace(specs_[i].source, i);
}

const VirtualModelSpec* VirtualModels::Find(std::string_view source) const noexcept {
  const auto it = by_source_.find(source);
  return it == by_source_.end() ? nullptr : &specs_[it->second];
}

const VirtualModelSpec* VirtualModels::Next(const VirtualModelSpec& spec,
                                            const VirtualTarget& target) const noexcept {
  if (!target.provider.empty() || target.model == spec.source) return nullptr;
  return Find(target.model);
}

std::vector<std::string> ExpandVirtualModel(const VirtualModels& models, std::string_view source,
                                            const PickFirst& pick) {
  Expansion expansion(models, pick);
  if (const VirtualModelSpec* spec = models.Find(source)) expansion.Visit(*spec, true);
  return expansion.Take();
}

std::size_t RoundRobin::Next(const VirtualModelSpec& spec, bool chosen) {
  MutexLock lock(&mutex_);
  std::vector<std::int64_t>& credit = credit_[chosen ? 1 : 0][spec.source];
  credit.resize(spec.targets.size());
  std::size_t best = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < credit.size(); ++i) {
    credit[i] += spec.targets[i].weight;
    total += spec.targets[i].weight;
    if (credit[i] > credit[best]) best = i;
  }
  credit[best] -= total;
  return best;
}

}  // namespace hotel::base
