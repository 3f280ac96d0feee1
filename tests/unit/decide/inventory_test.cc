#include "libhotel/decide/inventory.h"

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

const WallTime kNow{std::chrono::hours(24 * 365 * 50)};

ListedModel Listed(const std::string& id) {
  ListedModel model;
  model.model_id = id;
  return model;
}

std::vector<ListedModel> List(const std::vector<std::string>& ids) {
  std::vector<ListedModel> list;
  for (const std::string& id : ids) list.push_back(Listed(id));
  return list;
}

/// A row that a scan has made.
Model Row(const std::string& id, const std::string& provider = "p") {
  Model model;
  model.id = "uuid-" + id;
  model.provider_id = provider;
  model.model_id = id;
  model.last_seen_at = kNow - std::chrono::hours(6);
  return model;
}

std::vector<Model> Rows(const std::vector<std::string>& ids) {
  std::vector<Model> rows;
  for (const std::string& id : ids) rows.push_back(Row(id));
  return rows;
}

using Ids = std::vector<std::string>;

TEST_CASE("facts l a new model is enabled and seen now") {
  ListedModel listed = Listed("z-ai/glm");
  listed.context_length = 200000;
  listed.prices.input = 0.6;
  const InventoryPlan plan = PlanInventory("p", {}, {listed}, true, kNow);
  REQUIRE(plan.added.size() == 1);
  CHECK(plan.added[0].provider_id == "p");
  CHECK(plan.added[0].enabled);
  CHECK(plan.added[0].last_seen_at == kNow);
  CHECK(plan.added[0].context_length == 200000);
  CHECK(plan.added[0].prices.input == 0.6);
  CHECK(plan.report.added == Ids{"z-ai/glm"});
  CHECK(plan.report.updated.empty());
}

TEST_CASE("facts l a listed model is enabled again, but not against an operator") {
  std::vector<Model> rows = Rows({"retired", "off"});
  rows[0].enabled = rows[1].enabled = false;
  rows[0].retired_at = kNow - std::chrono::hours(48);
  rows[1].disabled_manually = true;
  const InventoryPlan plan = PlanInventory("p", rows, List({"retired", "off"}), false, kNow);
  CHECK(plan.report.reenabled == Ids{"retired"});
  REQUIRE(plan.changed.size() == 2);
  CHECK(plan.changed[0].enabled);
  CHECK_FALSE(plan.changed[0].retired_at.has_value());
  CHECK_FALSE(plan.changed[1].enabled);
  CHECK(plan.changed[1].disabled_manually);
  CHECK(plan.changed[1].last_seen_at == kNow);
}

TEST_CASE("facts l a model is disabled when two scans in a row miss it, and any sighting resets") {
  std::vector<Model> rows = Rows({"a", "b"});
  InventoryPlan plan = PlanInventory("p", rows, List({"a"}), true, kNow);
  CHECK(plan.report.disabled.empty());
  REQUIRE(plan.changed.size() == 2);
  CHECK(plan.changed[1].missing_scans == 1);
  CHECK(plan.changed[1].enabled);

  const InventoryPlan seen = PlanInventory("p", plan.changed, List({"a", "b"}), true, kNow);
  CHECK(seen.changed[1].missing_scans == 0);

  plan = PlanInventory("p", plan.changed, List({"a"}), true, kNow);
  CHECK(plan.report.disabled == Ids{"b"});
  CHECK_FALSE(plan.changed[1].enabled);
  CHECK_FALSE(plan.changed[1].disabled_manually);
  CHECK(plan.changed[1].retired_at == kNow);
  // It is counted no further.
  CHECK(PlanInventory("p", plan.changed, List({"a"}), true, kNow).changed.size() == 1);
}

TEST_CASE("facts l a scan by hand never disables and counts nothing") {
  std::vector<Model> rows = Rows({"a", "b"});
  rows[1].missing_scans = 1;
  const InventoryPlan plan = PlanInventory("p", rows, List({"a"}), false, kNow);
  CHECK(plan.report.disabled.empty());
  CHECK(plan.changed.size() == 1);
}

TEST_CASE("facts l what was never listed is not missed") {
  std::vector<Model> rows = Rows({"a"});
  rows[0].last_seen_at.reset();
  const InventoryPlan plan = PlanInventory("p", rows, {}, true, kNow);
  CHECK(plan.changed.empty());
  CHECK_FALSE(LacksKnownModels("p", rows, {}));
}

TEST_CASE("facts l a scan that lacks more than five and more than half is suspect") {
  const Ids eleven = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
  const std::vector<Model> rows = Rows(eleven);
  // 6 of 11: suspect. 5 of 11, and 5 of 5: not.
  InventoryPlan plan = PlanInventory("p", rows, List({"a", "b", "c", "d", "e"}), true, kNow);
  CHECK(plan.suspect);
  CHECK(plan.report.disabled.empty());
  CHECK(plan.changed.size() == 5);  // sightings count
  CHECK_FALSE(PlanInventory("p", rows, List({"a", "b", "c", "d", "e", "f"}), true, kNow).suspect);
  CHECK_FALSE(PlanInventory("p", Rows({"a", "b", "c", "d", "e"}), {}, true, kNow).suspect);
  // 6 of 12 is not more than half.
  std::vector<Model> twelve = rows;
  twelve.push_back(Row("l"));
  CHECK_FALSE(PlanInventory("p", twelve, List({"a", "b", "c", "d", "e", "f"}), true, kNow).suspect);
}

TEST_CASE("facts l a listing wins over what is there, its silence does not") {
  std::vector<Model> rows = Rows({"a"});
  rows[0].context_length = 1000;
  rows[0].max_output_tokens = 50;
  rows[0].prices.input = 1.0;
  rows[0].display_name = "Ours";
  ListedModel listed = Listed("a");
  listed.context_length = 2000;
  listed.prices.input = 2.5;
  InventoryPlan plan = PlanInventory("p", rows, {listed}, true, kNow);
  REQUIRE(plan.report.updated.size() == 1);
  const auto& changes = plan.report.updated[0].changes;
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].field == "context_length");
  CHECK(std::get<std::int64_t>(changes[0].before) == 1000);
  CHECK(std::get<std::int64_t>(changes[0].after) == 2000);
  CHECK(changes[1].field == "input_price_per_million");
  CHECK(std::get<double>(changes[1].after) == 2.5);
  CHECK(plan.changed[0].max_output_tokens == 50);
  CHECK(plan.changed[0].display_name == "Ours");

  rows[0].prices.set_by_operator = true;
  plan = PlanInventory("p", rows, {listed}, true, kNow);
  CHECK(plan.changed[0].prices.input == 1.0);
}

TEST_CASE("facts l confirmations are united with what was listed before") {
  std::vector<ListedModel> listing = List({"a", "b"});
  Unite(&listing, List({"b", "c"}));
  REQUIRE(listing.size() == 3);
  CHECK(listing[2].model_id == "c");
  CHECK(LacksKnownModels("p", Rows({"a", "d"}), listing));
  CHECK_FALSE(LacksKnownModels("p", Rows({"a", "c"}), listing));
  CHECK_FALSE(LacksKnownModels("q", Rows({"d"}), listing));
}

TEST_CASE("facts l pruning takes the longest retired first and spares operators' choices") {
  std::vector<Model> rows = Rows({"new", "old", "older", "off", "on", "foreign"});
  for (Model& row : rows) {
    row.enabled = false;
    row.retired_at = kNow - std::chrono::hours(24 * 10);
  }
  rows[0].retired_at = kNow - std::chrono::hours(24 * 6);
  rows[2].retired_at = kNow - std::chrono::hours(24 * 20);
  rows[3].disabled_manually = true;
  rows[4].enabled = true;
  rows[5].provider_id = "q";
  const WallTime before = kNow - std::chrono::hours(24 * 7);
  CHECK(PlanPruning(rows, {"p"}, before, 500) == Ids{"uuid-older", "uuid-old"});
  CHECK(PlanPruning(rows, {"p"}, before, 1) == Ids{"uuid-older"});
  CHECK(PlanPruning(rows, {}, before, 500).empty());
}

}  // namespace
}  // namespace hotel::decide
