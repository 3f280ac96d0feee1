// Whether a set of virtual models makes sense.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "libhotel/base/virtual_models.h"

namespace hotel::base {
namespace {

constexpr std::size_t kMaxShownNames = 12;

// "a -> b -> c", long ones with their middle left out.
std::string Chain(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.size() > kMaxShownNames && i == kMaxShownNames / 2) {
      text += " -> ...";
      i = names.size() - kMaxShownNames / 2;
    }
    if (!text.empty()) text += " -> ";
    text += TruncateUtf8(names[i], 120);
  }
  return text;
}

// Depth-first over the targets, without recursion: a wrong set may be as deep as it is long.
class Walk {
 public:
  Walk(const VirtualModels& models, std::vector<VirtualModelProblem>* problems)
      : models_(models),
        problems_(problems),
        color_(models.specs().size(), Color::kNew),
        depth_(models.specs().size(), 1),
        deepest_(models.specs().size(), kNone) {}

  void Run() {
    for (std::size_t i = 0; i < color_.size(); ++i) {
      if (color_[i] == Color::kNew) From(i);
    }
  }

 private:
  enum class Color { kNew, kOpen, kDone };
  struct Step {
    std::size_t model;
    std::size_t next_target;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t IndexOf(const VirtualModelSpec* spec) const {
    return static_cast<std::size_t>(spec - models_.specs().data());
  }

  void From(std::size_t start) {
    Open(start);
    while (!path_.empty()) {
      const std::size_t model = path_.back().model;
      const VirtualModelSpec& spec = models_.specs()[model];
      if (path_.back().next_target == spec.targets.size()) {
        Close(model);
        continue;
      }
      const std::size_t target = path_.back().next_target++;
      const VirtualModelSpec* next = models_.Next(spec, spec.targets[target]);
      if (next == nullptr) continue;
      const std::size_t child = IndexOf(next);
      if (color_[child] == Color::kNew) {
        Open(child);
      } else if (color_[child] == Color::kOpen) {
        ReportCycle(model, target, child);
      } else {
        Deepen(model, child);
      }
    }
  }

  void Open(std::size_t model) {
    color_[model] = Color::kOpen;
    path_.push_back({model, 0});
  }

  void Close(std::size_t model) {
    color_[model] = Color::kDone;
    path_.pop_back();
    // Models above this one are too deep for the same reason; it is said once.
    if (depth_[model] == kMaxVirtualDepth + 1) ReportDepth(model);
    if (!path_.empty()) Deepen(path_.back().model, model);
  }

  void Deepen(std::size_t model, std::size_t child) {
    if (depth_[child] + 1 <= depth_[model]) return;
    depth_[model] = depth_[child] + 1;
    deepest_[model] = child;
  }

  void ReportCycle(std::size_t model, std::size_t target, std::size_t child) {
    std::vector<std::string_view> names;
    auto it = std::find_if(path_.begin(), path_.end(),
                           [child](const Step& step) { return step.model == child; });
    for (; it != path_.end(); ++it) names.push_back(models_.specs()[it->model].source);
    names.push_back(models_.specs()[child].source);
    problems_->push_back({model, target, fmt::format("leads in a circle: {}", Chain(names))});
  }

  void ReportDepth(std::size_t model) {
    std::vector<std::string_view> names;
    for (std::size_t i = model; i != kNone; i = deepest_[i]) {
      names.push_back(models_.specs()[i].source);
    }
    problems_->push_back({model, std::nullopt,
                          fmt::format("is a chain of more than {} virtual models: {}",
                                      kMaxVirtualDepth, Chain(names))});
  }

  const VirtualModels& models_;
  std::vector<VirtualModelProblem>* const problems_;
  std::vector<Color> color_;
  std::vector<int> depth_;
  std::vector<std::size_t> deepest_;
  std::vector<Step> path_;
};

void CheckOne(const VirtualModels& models, std::size_t index,
              std::vector<VirtualModelProblem>* problems) {
  const VirtualModelSpec& spec = models.specs()[index];
  const auto add = [&](std::optional<std::size_t> target, std::string message) {
    problems->push_back({index, target, std::move(message)});
  };
  if (spec.source.empty()) {
    add(std::nullopt, "has no source; write source: and the name that clients ask for");
  } else if (StartsWith(spec.source, "hotel/")) {
    add(std::nullopt, "names beginning with hotel/ are those of failover groups; choose another");
  } else if (models.Find(spec.source) != &spec) {
    add(std::nullopt, "is the source of another virtual model too; choose another name");
  }
  if (spec.targets.empty()) {
    add(std::nullopt, "has no targets; list at least one {model: <provider>/<model>}");
  }
  for (std::size_t i = 0; i < spec.targets.size(); ++i) {
    if (spec.targets[i].weight < 1 || spec.targets[i].weight > kMaxVirtualWeight) {
      add(i, fmt::format("has a weight out of range; write 1 to {}", kMaxVirtualWeight));
    }
  }
  const bool only_itself =
      !spec.source.empty() && !spec.targets.empty() &&
      std::all_of(spec.targets.begin(), spec.targets.end(), [&spec](const VirtualTarget& target) {
        return TargetName(target) == spec.source;
      });
  if (only_itself) add(std::nullopt, "has no target but itself; add one, or remove it");
}

}  // namespace

std::vector<VirtualModelProblem> CheckVirtualModels(const std::vector<VirtualModelSpec>& specs) {
  std::vector<VirtualModelProblem> problems;
  const VirtualModels models(specs);
  for (std::size_t i = 0; i < specs.size(); ++i) CheckOne(models, i, &problems);
  Walk(models, &problems).Run();
  return problems;
}

}  // namespace hotel::base
