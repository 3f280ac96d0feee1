// Virtual models as a whole: whether a set of them makes sense, and what a name stands for.
#ifndef HOTEL_BASE_VIRTUAL_MODELS_H_
#define HOTEL_BASE_VIRTUAL_MODELS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/virtual_model.h"

#include "libhotel/base/mutex.h"

namespace hotel::base {

/// Virtual models on the longest way from a name to a real model, the first one included.
inline constexpr int kMaxVirtualDepth = 8;
inline constexpr int kMaxVirtualWeight = 1000;

/// The name of a target: `<provider>/<model>` or a source.
std::string TargetName(const VirtualTarget& target);

/// Something wrong with a set of virtual models.
struct VirtualModelProblem {
  std::size_t model = 0;              ///< index in the set
  std::optional<std::size_t> target;  ///< index among its targets
  std::string message;
};

/// Sources that are empty, taken or begin with `hotel/`, targets that are missing, weights out of
/// range, models that lead only to themselves, cycles (spelled out) and chains of more than
/// kMaxVirtualDepth. Whether real models exist is not looked at.
std::vector<VirtualModelProblem> CheckVirtualModels(const std::vector<VirtualModelSpec>& specs);

/// A set of virtual models by source. Immutable.
class VirtualModels {
 public:
  /// REQUIRES: CheckVirtualModels(specs) is empty.
  explicit VirtualModels(std::vector<VirtualModelSpec> specs);

  bool empty() const noexcept { return specs_.empty(); }
  const std::vector<VirtualModelSpec>& specs() const noexcept { return specs_; }
  /// Null when no virtual model has that name.
  const VirtualModelSpec* Find(std::string_view source) const noexcept;
  /// The virtual model that a target of `spec` leads to; null when it is a real model.
  const VirtualModelSpec* Next(const VirtualModelSpec& spec,
                               const VirtualTarget& target) const noexcept;

 private:
  std::vector<VirtualModelSpec> specs_;
  std::map<std::string, std::size_t, std::less<>> by_source_;
};

/// Says which target of a round-robin model comes first. `chosen`: the model stands in the first
/// place itself, it is not a fallback of another one.
using PickFirst = std::function<std::size_t(const VirtualModelSpec& spec, bool chosen)>;

/// The real models behind `source` in the order they are to be asked, `<provider>/<model>`, each
/// once; empty when `source` is no virtual model. Calls `pick` once for every round-robin model on
/// the way. Real models are never looked up among the virtual ones again.
std::vector<std::string> ExpandVirtualModel(const VirtualModels& models, std::string_view source,
                                            const PickFirst& pick);

/// Smooth weighted round robin: with weights 2 and 1 the firsts are a, b, a, a, b, a, ...
/// First places and fallbacks are counted apart, so that a model that is both does not give all of
/// its first places to one target. Thread-safe; the memory is bounded by the models there are.
class RoundRobin {
 public:
  std::size_t Next(const VirtualModelSpec& spec, bool chosen) HOTEL_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> credit_[2] HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_VIRTUAL_MODELS_H_
