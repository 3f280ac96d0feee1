#include "libhotel/base/virtual_models.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "hotel/virtual_model.h"

#include "tests/support/catch.h"

namespace hotel::base {
namespace {

using Strategy = VirtualModelSpec::Strategy;
using Names = std::vector<std::string>;

VirtualModelSpec Model(std::string source, Strategy strategy, std::vector<std::string> targets) {
  VirtualModelSpec spec{std::move(source), strategy, {}};
  for (std::string& target : targets) spec.targets.push_back({std::move(target), "", 1});
  return spec;
}

std::string Problems(const std::vector<VirtualModelSpec>& specs) {
  std::string text;
  for (const VirtualModelProblem& problem : CheckVirtualModels(specs)) {
    text += specs[problem.model].source;
    if (problem.target) text += "[" + std::to_string(*problem.target) + "]";
    text += ": " + problem.message + "\n";
  }
  return text;
}

std::size_t First(const VirtualModelSpec&, bool) { return 0; }

TEST_CASE("B2 failover: the targets in the order they are written") {
  const VirtualModels models({Model("s", Strategy::kFailover, {"a/1", "b/2", "c/3"})});
  bool picked = false;
  const auto pick = [&picked](const VirtualModelSpec&, bool) {
    picked = true;
    return std::size_t{1};
  };
  CHECK(ExpandVirtualModel(models, "s", pick) == Names{"a/1", "b/2", "c/3"});
  CHECK_FALSE(picked);
  CHECK(ExpandVirtualModel(models, "a/1", First).empty());
}

TEST_CASE("B2 round robin: the one picked, then the others in the order they are written") {
  const VirtualModels models({Model("s", Strategy::kRoundRobin, {"a/1", "b/2", "c/3"})});
  const auto second = [](const VirtualModelSpec&, bool) { return std::size_t{1}; };
  CHECK(ExpandVirtualModel(models, "s", second) == Names{"b/2", "a/1", "c/3"});
}

TEST_CASE("B5 a target may be a virtual model; its own strategy orders its leg") {
  const VirtualModels models({Model("outer", Strategy::kFailover, {"inner", "z/9"}),
                              Model("inner", Strategy::kRoundRobin, {"a/1", "b/2"}),
                              Model("alias", Strategy::kFailover, {"outer"})});
  const auto second = [](const VirtualModelSpec& spec, bool chosen) {
    CHECK(spec.source == "inner");
    CHECK(chosen);
    return std::size_t{1};
  };
  CHECK(ExpandVirtualModel(models, "alias", second) == Names{"b/2", "a/1", "z/9"});
}

TEST_CASE("B7 a model that is reached twice is asked once, in its first place") {
  const VirtualModels models({Model("outer", Strategy::kFailover, {"b/2", "inner", "a/1", "inner"}),
                              Model("inner", Strategy::kFailover, {"a/1", "b/2", "c/3"})});
  CHECK(ExpandVirtualModel(models, "outer", First) == Names{"b/2", "a/1", "c/3"});
}

TEST_CASE("B6 a target of the source's own name is the real model") {
  const VirtualModels models({Model("a/1", Strategy::kFailover, {"b/2", "a/1"}),
                              Model("s", Strategy::kFailover, {"a/1"})});
  CHECK(ExpandVirtualModel(models, "a/1", First) == Names{"b/2", "a/1"});
  CHECK(ExpandVirtualModel(models, "s", First) == Names{"b/2", "a/1"});
}

TEST_CASE("A target with a provider is the real model, whatever covers its name") {
  VirtualModelSpec direct{"s", Strategy::kFailover, {{"1", "a", 1}}};
  const VirtualModels models({Model("a/1", Strategy::kFailover, {"b/2", "a/1"}), direct});
  CHECK(ExpandVirtualModel(models, "s", First) == Names{"a/1"});
}

TEST_CASE("Many ways to the same models cost no more than one") {
  std::vector<VirtualModelSpec> specs;
  for (int level = 0; level < 7; ++level) {
    const std::string next = "v" + std::to_string(level + 1);
    specs.push_back(Model("v" + std::to_string(level), Strategy::kRoundRobin,
                          std::vector<std::string>(50, next)));
  }
  specs.push_back(Model("v7", Strategy::kRoundRobin, {"a/1", "b/2"}));
  CHECK(Problems(specs).empty());
  int picks = 0;
  const auto count = [&picks](const VirtualModelSpec&, bool) {
    ++picks;
    return std::size_t{0};
  };
  CHECK(ExpandVirtualModel(VirtualModels(specs), "v0", count) == Names{"a/1", "b/2"});
  CHECK(picks == 8);
}

TEST_CASE("B5 chains are at most 8 deep") {
  std::vector<VirtualModelSpec> specs;
  for (int i = 1; i < 8; ++i) {
    specs.push_back(
        Model("v" + std::to_string(i), Strategy::kFailover, {"v" + std::to_string(i + 1)}));
  }
  specs.push_back(Model("v8", Strategy::kFailover, {"a/1"}));
  CHECK(Problems(specs).empty());
  CHECK(ExpandVirtualModel(VirtualModels(specs), "v1", First) == Names{"a/1"});
  // One more is too many; what leads to it is not named again.
  specs.push_back(Model("v0", Strategy::kFailover, {"v1"}));
  specs.push_back(Model("v", Strategy::kFailover, {"v0"}));
  CHECK(Problems(specs) ==
        "v0: is a chain of more than 8 virtual models: v0 -> v1 -> v2 -> v3 -> v4 -> v5 -> v6 -> "
        "v7 -> v8\n");
}

TEST_CASE("Cycles are found wherever they are entered, and a covered name is none") {
  CHECK(Problems({Model("x", Strategy::kFailover, {"y", "a/1"}),
                  Model("y", Strategy::kFailover, {"a/1", "x"})}) ==
        "y[1]: leads in a circle: x -> y -> x\n");
  CHECK(Problems({Model("in", Strategy::kFailover, {"x"}), Model("x", Strategy::kFailover, {"y"}),
                  Model("y", Strategy::kFailover, {"x"})}) ==
        "y[0]: leads in a circle: x -> y -> x\n");
  CHECK(Problems({Model("a/1", Strategy::kFailover, {"a/1", "b/2"})}).empty());
}

TEST_CASE("A long cycle is found without recursion and told in one line") {
  constexpr int kCount = 50000;
  std::vector<VirtualModelSpec> specs;
  for (int i = 0; i < kCount; ++i) {
    specs.push_back(Model("v" + std::to_string(i), Strategy::kFailover,
                          {"v" + std::to_string((i + 1) % kCount)}));
  }
  const std::string text = Problems(specs);
  CHECK(text.find("leads in a circle: v0 -> v1 -> v2 -> v3 -> v4 -> v5 -> ... -> ") !=
        std::string::npos);
  CHECK(text.size() < 1000);
}

TEST_CASE("A virtual model needs a free source, targets other than itself, and weights") {
  CHECK(Problems({Model("", Strategy::kFailover, {"a/1"})}).find("has no source") !=
        std::string::npos);
  CHECK(Problems({Model("hotel/x", Strategy::kFailover, {"a/1"})}).find("failover groups") !=
        std::string::npos);
  CHECK(Problems(
            {Model("s", Strategy::kFailover, {"a/1"}), Model("s", Strategy::kFailover, {"b/2"})}) ==
        "s: is the source of another virtual model too; choose another name\n");
  CHECK(Problems({Model("s", Strategy::kFailover, {})}).find("has no targets") !=
        std::string::npos);
  VirtualModelSpec self{"a/1", Strategy::kFailover, {{"1", "a", 1}, {"a/1", "", 1}}};
  CHECK(Problems({self}) == "a/1: has no target but itself; add one, or remove it\n");
  for (const int weight : {0, -1, 1001}) {
    VirtualModelSpec spec = Model("s", Strategy::kRoundRobin, {"a/1"});
    spec.targets[0].weight = weight;
    CHECK(Problems({spec}) == "s[0]: has a weight out of range; write 1 to 1000\n");
  }
}

std::string Firsts(RoundRobin* robin, const VirtualModelSpec& spec, bool chosen, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>('a' + robin->Next(spec, chosen));
  return text;
}

TEST_CASE("Round robin is smooth and follows the weights") {
  RoundRobin robin;
  VirtualModelSpec spec = Model("s", Strategy::kRoundRobin, {"x/1", "x/2", "x/3"});
  CHECK(Firsts(&robin, spec, true, 6) == "abcabc");
  spec.source = "t";
  spec.targets[0].weight = 5;
  CHECK(Firsts(&robin, spec, true, 14) == "aabacaaaabacaa");
}

TEST_CASE("First places and fallbacks of one model are counted apart") {
  const VirtualModels models({Model("outer", Strategy::kRoundRobin, {"x/9", "pool"}),
                              Model("pool", Strategy::kRoundRobin, {"a/1", "b/2"})});
  RoundRobin robin;
  const PickFirst pick = [&robin](const VirtualModelSpec& spec, bool chosen) {
    return robin.Next(spec, chosen);
  };
  std::map<std::string, int> firsts;
  std::map<std::string, int> seconds;
  for (int i = 0; i < 80; ++i) {
    const Names names = ExpandVirtualModel(models, "outer", pick);
    ++firsts[names[0]];
    if (names[0] == "x/9") ++seconds[names[1]];
  }
  CHECK(firsts == std::map<std::string, int>{{"x/9", 40}, {"a/1", 20}, {"b/2", 20}});
  CHECK(seconds == std::map<std::string, int>{{"a/1", 20}, {"b/2", 20}});
}

TEST_CASE("Round robin gives every target its share under many threads") {
  RoundRobin robin;
  VirtualModelSpec spec = Model("s", Strategy::kRoundRobin, {"x/1", "x/2"});
  spec.targets[0].weight = 3;
  constexpr int kThreads = 4;
  std::vector<std::vector<int>> counts(kThreads, std::vector<int>(2));
  std::vector<std::thread> threads;
  for (std::vector<int>& own : counts) {
    threads.emplace_back([&robin, &spec, &own] {
      for (int i = 0; i < 1000; ++i) ++own[robin.Next(spec, true)];
    });
  }
  for (std::thread& thread : threads) thread.join();
  int first = 0;
  for (const std::vector<int>& own : counts) first += own[0];
  CHECK(first == 3000);
}

}  // namespace
}  // namespace hotel::base
