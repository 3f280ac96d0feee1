// Virtual keys in the database (facts o; field report F173).
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/key_store.h"

#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

const std::string kProvider = "aaaaaaaa-0000-4000-8000-000000000001";

struct World {
  TempDir dir;
  std::unique_ptr<Clock> clock = MakeSystemClock();
  std::unique_ptr<KeyStore> keys = Open();

  std::unique_ptr<KeyStore> Open() const {
    KeyStoreOptions options;
    options.path = dir.File("hotel.db");
    return *OpenKeyStore(options, clock.get());
  }
  VirtualKey Only() const { return keys->Snapshot()->keys().at(0); }
};

KeySpec Named(const std::string& name) {
  KeySpec spec;
  spec.name = name;
  return spec;
}

FileKey InFile(const std::string& name, const std::string& key) {
  return {Named(name), Secret(key)};
}

/// What is wrong with a file that has this key in line 12.
std::string Problem(World& w, const std::string& name, std::string_view key) {
  FileKey entry = InFile(name, std::string(key));
  entry.place = "hotel.yaml:12: virtual_keys[1]";
  return std::string(w.keys->ApplyFile({InFile("first", "key-first"), entry}).message());
}

}  // namespace

TEST_CASE("contract: a key of the file that cannot be taken is named by its line") {
  World w;
  const auto made = w.keys->Create(Named("app"));
  REQUIRE(made.ok());
  const std::string place = "hotel.yaml:12: virtual_keys[1]: ";
  CHECK(Problem(w, "other", made->key.Reveal()) ==
        place + "virtual key 'other': the same key is stored as 'app'; delete one of them");
  CHECK(w.keys->Snapshot()->keys().size() == 1);  // nothing of the file was taken
  // A key that is called otherwise from now on, like one that was made over the API.
  REQUIRE(w.keys->ApplyFile({InFile("dev", "key-dev")}).ok());
  CHECK(Problem(w, "app", "key-dev") == place + "a virtual key named 'app' already exists");
  CHECK(Problem(w, "Admin", "key-admin") ==
        place + "virtual key 'Admin': the name 'Admin' is reserved; choose another");
}

TEST_CASE("facts o a key is sk- and 32 hex digits, kept as a digest and a preview") {
  World w;
  const auto made = w.keys->Create(Named(" app "));
  REQUIRE(made.ok());
  const std::string secret(made->key.Reveal());
  CHECK(secret.size() == 35);
  CHECK(secret.substr(0, 3) == "sk-");
  CHECK(secret.find_first_not_of("0123456789abcdef", 3) == std::string::npos);
  CHECK(made->row.spec.name == "app");
  CHECK(made->row.preview == "sk-..." + secret.substr(31));
  CHECK(w.keys->Snapshot()->FindKey(secret)->id == made->row.id);
  CHECK(w.keys->Snapshot()->FindKey(secret + "0") == nullptr);
  CHECK(w.keys->Snapshot()->FindKey("") == nullptr);
  // F173: neither the file nor its log holds it.
  for (const char* const name : {"hotel.db", "hotel.db-wal"}) {
    std::ifstream file(w.dir.File(name), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    REQUIRE_FALSE(bytes.empty());
    CHECK(bytes.find(secret) == std::string::npos);
  }
}

TEST_CASE("facts o what a key may be called and hold") {
  World w;
  const auto refused = [&](KeySpec spec) {
    const auto made = w.keys->Create(spec);
    return !made.ok() && made.status().code() == absl::StatusCode::kInvalidArgument;
  };
  CHECK(refused(Named("")));
  CHECK(refused(Named(std::string(101, 'x'))));
  for (const std::string_view name : kReservedKeyNames) CHECK(refused(Named(std::string(name))));
  CHECK(refused(Named("Arena")));
  KeySpec spec = Named("a");
  spec.limits.providers = std::make_shared<const std::vector<std::string>>();
  CHECK(refused(spec));
  spec.limits.providers = std::make_shared<const std::vector<std::string>>(1, "acme");
  CHECK(refused(spec));
  spec = Named("a");
  spec.limits.burst = 0;
  CHECK(refused(spec));
  spec = Named("a");
  spec.limits.has_budget = true;
  spec.limits.budget.amount = KeyBudget::kMost + 1;
  CHECK(refused(spec));
  REQUIRE(w.keys->Create(Named("a")).ok());
  CHECK(w.keys->Create(Named("a")).status().code() == absl::StatusCode::kAlreadyExists);
}

TEST_CASE("everything about a key is there after the database was closed") {
  World w;
  KeySpec spec = Named("app");
  spec.enabled = false;
  spec.limits.rps = 0;
  spec.limits.burst = 7;
  spec.limits.tpm = 1000;
  spec.limits.has_budget = true;
  spec.limits.budget = {123456789, BudgetPeriod::kWeek};
  spec.limits.providers = std::make_shared<const std::vector<std::string>>(2, kProvider);
  const auto made = w.keys->Create(spec);
  REQUIRE(made.ok());
  w.keys.reset();
  w.keys = w.Open();
  const VirtualKey key = w.Only();
  CHECK(key.id == made->row.id);
  CHECK(key.digest == made->row.digest);
  CHECK_FALSE(key.spec.enabled);
  CHECK(key.spec.limits.rps == 0);
  CHECK(key.spec.limits.burst == 7);
  CHECK(key.spec.limits.tpm == 1000);
  CHECK(key.spec.limits.budget.amount == 123456789);
  CHECK(key.spec.limits.budget.period == BudgetPeriod::kWeek);
  CHECK(*key.spec.limits.providers == std::vector<std::string>{kProvider});
  CHECK(w.keys->Snapshot()->FindKey(made->key.Reveal()) == nullptr);  // it is switched off
  const auto updated = w.keys->Update(key.id, [](KeySpec* s) { s->enabled = true; });
  REQUIRE(updated.ok());
  CHECK(w.keys->Snapshot()->FindKey(made->key.Reveal()) != nullptr);
  REQUIRE(w.keys->Delete(key.id).ok());
  CHECK(w.keys->Snapshot()->FindKey(made->key.Reveal()) == nullptr);
  CHECK(w.keys->Delete(key.id).code() == absl::StatusCode::kNotFound);
}

TEST_CASE("keys of the file come, change, trade their secrets and go") {
  World w;
  REQUIRE(w.keys->ApplyFile({InFile("a", "key-a"), InFile("b", "key-b")}).ok());
  const std::string a = w.keys->Snapshot()->FindKey("key-a")->id;
  CHECK(w.keys->Snapshot()->FindById(a)->from_file);
  CHECK(w.keys->Update(a, [](KeySpec*) {}).status().code() ==
        absl::StatusCode::kFailedPrecondition);
  CHECK(w.keys->Delete(a).code() == absl::StatusCode::kFailedPrecondition);

  // A new secret, and names that trade theirs, keep the ids and so what was used.
  REQUIRE(w.keys->ApplyFile({InFile("a", "key-b"), InFile("b", "key-a")}).ok());
  CHECK(w.keys->Snapshot()->FindKey("key-b")->id == a);
  // Another name for the same secret is the same key.
  REQUIRE(w.keys->ApplyFile({InFile("renamed", "key-b"), InFile("b", "key-a")}).ok());
  CHECK(w.keys->Snapshot()->FindById(a)->spec.name == "renamed");

  REQUIRE(w.keys->ApplyFile({InFile("b", "key-a")}).ok());
  CHECK(w.keys->Snapshot()->FindKey("key-b") == nullptr);
  CHECK_FALSE(w.keys->Snapshot()->FindById(a)->from_file);
  REQUIRE(w.keys->ApplyFile({InFile("b", "key-a"), InFile("renamed", "key-b")}).ok());
  CHECK(w.keys->Snapshot()->FindKey("key-b")->id == a);
}

TEST_CASE("what keys used adds up and goes with them") {
  World w;
  const auto made = w.keys->Create(Named("app"));
  REQUIRE(made.ok());
  KeyCharge charge{made->row.id, {}};
  charge.usage.requests = 1;
  charge.usage.prompt = 10;
  charge.usage.completion = 5;
  charge.usage.cached = 4;
  charge.usage.reasoning = 3;
  charge.usage.cost = 77;
  charge.usage.last_used_at = WallTime(std::chrono::hours(1000));
  charge.usage.days = {{20000, 77}};
  KeyCharge nobody = charge;
  nobody.key_id = "gone";
  REQUIRE(w.keys->AddUsage({charge, nobody}).ok());
  charge.usage.last_used_at.reset();
  REQUIRE(w.keys->AddUsage({charge}).ok());
  w.keys.reset();
  w.keys = w.Open();
  auto used = *w.keys->ReadUsage();
  REQUIRE(used.size() == 1);
  const KeyUsage& sum = used[made->row.id];
  CHECK(sum.requests == 2);
  CHECK(sum.tokens() == 30);
  CHECK(sum.cached == 8);
  CHECK(sum.reasoning == 6);
  CHECK(sum.cost == 154);
  CHECK(sum.days.at(20000) == 154);
  CHECK(*sum.last_used_at == WallTime(std::chrono::hours(1000)));
  // Days that no budget looks at any more are dropped.
  charge.usage.days = {{20100, 1}};
  REQUIRE(w.keys->AddUsage({charge}).ok());
  CHECK(w.keys->ReadUsage()->at(made->row.id).days.size() == 1);
  REQUIRE(w.keys->Delete(made->row.id).ok());
  CHECK(w.keys->ReadUsage()->empty());
}

}  // namespace hotel::store
