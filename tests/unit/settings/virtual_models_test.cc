// The `virtual_models:` block.
#include "libhotel/base/virtual_models.h"

#include <string>
#include <vector>

#include "hotel/virtual_model.h"

#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel;
using namespace hotel::settings;

// Two providers in lines 1 to 8; `more` begins in line 9.
std::string Two(std::string_view more) {
  return "providers:\n"
         "  acme:\n"
         "    type: openai\n"
         "    base_url: https://acme.example/v1\n"
         "    models: [a, b]\n"
         "  My Other:\n"
         "    type: openai\n"
         "    base_url: https://other.example/v1\n" +
         std::string(more);
}

std::vector<VirtualModelSpec> Good(std::string_view more) {
  const ReadResult result = Read(Two(more));
  REQUIRE(Lines(result.errors) == std::vector<std::string>{});
  return result.config.virtual_models;
}

TEST_CASE("The block of the contract is read as it stands there") {
  const auto models = Good(
      "virtual_models:\n"
      "  - {source: resilient-chat, strategy: failover, targets: [{model: acme/a}, {model: My "
      "Other/b}]}\n"
      "  - {source: spread, strategy: round_robin,\n"
      "     targets: [{model: a, provider: acme, weight: 3}, {model: resilient-chat}]}\n");
  REQUIRE(models.size() == 2);
  CHECK(models[0].source == "resilient-chat");
  CHECK(models[0].strategy == VirtualModelSpec::Strategy::kFailover);
  CHECK(models[0].targets[0].model == "acme/a");
  CHECK(models[0].targets[1].model == "My-Other/b");
  CHECK(models[1].strategy == VirtualModelSpec::Strategy::kRoundRobin);
  CHECK(base::TargetName(models[1].targets[0]) == "acme/a");
  CHECK(models[1].targets[0].weight == 3);
  CHECK(models[1].targets[1].model == "resilient-chat");
  CHECK(models[1].targets[1].weight == 1);
}

TEST_CASE("B3 a virtual model without a strategy is round robin") {
  const auto models = Good("virtual_models: [{source: s, targets: [{model: acme/a}]}]\n");
  CHECK(models[0].strategy == VirtualModelSpec::Strategy::kRoundRobin);
}

TEST_CASE("B6 a virtual model may cover a real one and still name it") {
  const auto models = Good(
      "virtual_models: [{source: acme/a, strategy: failover,\n"
      "                  targets: [{model: acme/a}, {model: My-Other/a}]}]\n");
  CHECK(models[0].targets[0].model == "acme/a");
}

TEST_CASE("Mistakes in virtual models name file, line and path") {
  CHECK(Errors(Two("virtual_models:\n"
                   "  - {source: s, strategy: cheapest, targets: [{model: acme/a}]}\n"
                   "  - {source: t, strategy: failover}\n"
                   "  - {source: acme/a, strategy: failover, targets: [{model: acme/a}]}\n"
                   "  - {source: hotel/x, targets: [{model: acme/a}]}\n"
                   "  - {source: s, targets: [{model: acme/a, weight: 0}]}\n"
                   "  - {targets: [{model: acme/a}]}\n"
                   "  - {source: v, target: acme/a}\n"
                   "  - {source: w, targets: [{provider: acme}, acme/a]}\n")) ==
        "h.yaml:10: virtual_models[0].strategy: \"cheapest\" is no strategy; write failover or "
        "round_robin\n"
        "h.yaml:11: virtual_models[1]: has no targets; list at least one {model: "
        "<provider>/<model>}\n"
        "h.yaml:12: virtual_models[2]: has no target but itself; add one, or remove it\n"
        "h.yaml:13: virtual_models[3]: names beginning with hotel/ are those of failover groups; "
        "choose another\n"
        "h.yaml:14: virtual_models[4].targets[0].weight: \"0\" is no weight; write a whole number "
        "from 1 to 1000\n"
        "h.yaml:15: virtual_models[5]: has no source; write source: and the name that clients ask "
        "for\n"
        "h.yaml:16: virtual_models[6].target: unknown key; did you mean \"targets\"?\n"
        "h.yaml:16: virtual_models[6]: has no targets; list at least one {model: "
        "<provider>/<model>}\n"
        "h.yaml:17: virtual_models[7].targets[0]: has no model; write model: <provider>/<model>\n"
        "h.yaml:17: virtual_models[7].targets[1]: is no target; write {model: "
        "<provider>/<model>}");
}

TEST_CASE("B17 targets must be of providers that are configured") {
  CHECK(Errors(Two("virtual_models:\n"
                   "  - source: s\n"
                   "    targets:\n"
                   "      - {model: acne/a}\n"
                   "      - {model: a, provider: acne}\n"
                   "      - {model: nothing}\n"
                   "      - {model: hotel/glm}\n")) ==
        "h.yaml:12: virtual_models[0].targets[0]: names the provider \"acne\", which is not under "
        "providers; did you mean \"acme\"?\n"
        "h.yaml:13: virtual_models[0].targets[1]: names the provider \"acne\", which is not under "
        "providers; did you mean \"acme\"?\n"
        "h.yaml:14: virtual_models[0].targets[2]: \"nothing\" does not name a model; write "
        "<provider>/<model>\n"
        "h.yaml:15: virtual_models[0].targets[3]: a failover group is no target; write its members "
        "as targets");
}

TEST_CASE("B17 whether a target's model exists is no question at load: a warning tells") {
  const ReadResult read =
      Read(Two("virtual_models:\n"
               "  - source: s\n"
               "    targets: [{model: acme/c}]\n"));
  CHECK(read.errors.empty());
  CHECK(Lines(read.warnings) ==
        std::vector<std::string>{
            "h.yaml:11: virtual_models[0].targets[0]: names the model \"c\", which is not in the "
            "list of provider \"acme\"; did you mean \"a\"?; it is never asked"});
}

TEST_CASE("B5 a cycle is spelled out where it closes") {
  CHECK(Errors(Two("virtual_models:\n"
                   "  - {source: x, targets: [{model: acme/a}, {model: y}]}\n"
                   "  - {source: y, targets: [{model: z}]}\n"
                   "  - {source: z, targets: [{model: x}]}\n")) ==
        "h.yaml:12: virtual_models[2].targets[0]: leads in a circle: x -> y -> z -> x");
}

}  // namespace
