#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

constexpr char kStranger[] = "00000000-0000-4000-8000-00000000000a";

struct Fixture {
  TestClock clock;
  std::unique_ptr<SqliteStore> store = MustOpen(":memory:", clock);

  std::shared_ptr<const Provider> Find(const std::string& name) {
    return store->Snapshot()->FindProvider(name);
  }
  bool ModelEnabled(const std::string& provider_id, const std::string& model_id) {
    const auto snapshot = store->Snapshot();
    const Model* model = snapshot->FindModel(provider_id, model_id);
    REQUIRE(model != nullptr);
    return model->enabled;
  }
};

TEST_CASE("provider: stored, decrypted and found by its hyphen form") {
  Fixture f;
  const std::string id = Must(f.store->UpsertProvider(SpecOf("my provider", "sk-secret")));
  const auto provider = f.Find("my-provider");
  REQUIRE(provider != nullptr);
  CHECK(provider->id == id);
  CHECK(provider->name == "my provider");
  CHECK(provider->key_state == KeyState::kReady);
  CHECK(provider->api_key == Secret("sk-secret"));
  CHECK_FALSE(provider->fixed_models);
}

TEST_CASE("provider: names that share their hyphen form are one provider") {
  Fixture f;
  const std::string id = Must(f.store->UpsertProvider(SpecOf("a b")));
  CHECK(Must(f.store->UpsertProvider(SpecOf("a-b"))) == id);
  CHECK(f.store->Snapshot()->providers().size() == 1);
  CHECK(f.Find("a-b")->name == "a-b");
}

TEST_CASE("provider: trailing slashes of the address are cut") {
  Fixture f;
  ProviderSpec spec = SpecOf("a");
  spec.base_url = " https://a.test/v1// ";
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Find("a")->base_url == "https://a.test/v1");
}

TEST_CASE("provider: what cannot be one is refused and nothing changes") {
  Fixture f;
  const auto before = f.store->Snapshot();
  const auto refused = [&f](ProviderSpec spec) {
    return absl::IsInvalidArgument(f.store->UpsertProvider(spec).status());
  };
  CHECK(refused(SpecOf("")));
  CHECK(refused(SpecOf(std::string(101, 'n'))));
  CHECK(refused(SpecOf("a/b")));
  CHECK(refused(SpecOf("hotel")));
  CHECK(refused(SpecOf("p")));
  CHECK(refused(SpecOf("a\nb")));
  ProviderSpec spec = SpecOf("a");
  spec.base_url = "///";
  CHECK(refused(spec));
  for (const char* url : {"https://a.test/v1?key=k", "https://a.test/#x", "https://k@a.test/v1"}) {
    spec.base_url = url;
    CHECK(refused(spec));
  }
  spec = SpecOf("a");
  spec.type.clear();
  CHECK(refused(spec));
  spec = SpecOf("a");
  spec.models = std::vector<std::string>{"ok", " "};
  CHECK(refused(spec));
  spec.models = std::vector<std::string>(10001, "m");
  CHECK(refused(spec));
  CHECK(f.store->Snapshot() == before);
}

TEST_CASE("provider: a key that cannot stand in a header is refused without being shown") {
  Fixture f;
  const absl::Status status =
      f.store->UpsertProvider(SpecOf("a", "sk-injected\r\nx-evil: 1")).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(status.message().find("sk-injected") == absl::string_view::npos);
}

TEST_CASE("provider: what is particular to its connections is stored, changed and taken back") {
  Fixture f;
  ProviderSpec spec = SpecOf("a", "sk-a");
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Find("a")->transport == nullptr);
  spec.transport.ca_file = "/etc/roots.pem";
  spec.transport.proxy = Secret("http://user:pw@proxy.test:3128");
  spec.transport.unix_socket = "/run/model.sock";
  spec.transport.http2 = true;
  Must(f.store->UpsertProvider(spec));
  REQUIRE(f.Find("a")->transport != nullptr);
  CHECK(*f.Find("a")->transport == spec.transport);
  CHECK(f.Find("a")->api_key == Secret("sk-a"));
  // A group's change rebuilds the snapshot and forgets nothing.
  AddModels(*f.store, 1);
  CHECK(*f.Find("a")->transport == spec.transport);
  spec.transport = {};
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Find("a")->transport == nullptr);
  CHECK(f.Find("a")->api_key == Secret("sk-a"));
}

TEST_CASE("provider: max_in_flight is stored, changed and taken back, 1 to 10000") {
  Fixture f;
  ProviderSpec spec = SpecOf("a", "sk-a");
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Find("a")->max_in_flight == 0);
  for (const int ceiling : {1, 10000, 4}) {
    spec.max_in_flight = ceiling;
    Must(f.store->UpsertProvider(spec));
    CHECK(f.Find("a")->max_in_flight == ceiling);
  }
  for (const int bad : {-1, 10001}) {
    spec.max_in_flight = bad;
    CHECK(absl::IsInvalidArgument(f.store->UpsertProvider(spec).status()));
    CHECK(f.Find("a")->max_in_flight == 4);
  }
  AddModels(*f.store, 1);
  CHECK(f.Find("a")->max_in_flight == 4);
  spec.max_in_flight = 0;
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Find("a")->max_in_flight == 0);
  CHECK(f.Find("a")->api_key == Secret("sk-a"));
}

TEST_CASE("provider: a proxy that cannot be one text is refused without being shown") {
  Fixture f;
  ProviderSpec spec = SpecOf("a");
  spec.transport.proxy = Secret("http://user:hunter2@proxy.test\r\nx: 1");
  const absl::Status status = f.store->UpsertProvider(spec).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(status.message().find("hunter2") == absl::string_view::npos);
}

TEST_CASE("provider: a fixed list enables its models and disables the others") {
  Fixture f;
  ProviderSpec spec = SpecOf("a");
  spec.models = std::vector<std::string>{"one", "two", "one"};
  const std::string id = Must(f.store->UpsertProvider(spec));
  CHECK(f.Find("a")->fixed_models);
  CHECK(f.store->Snapshot()->models().size() == 2);
  spec.models = std::vector<std::string>{"two", "three"};
  CHECK(Must(f.store->UpsertProvider(spec)) == id);
  CHECK_FALSE(f.ModelEnabled(id, "one"));
  CHECK(f.ModelEnabled(id, "two"));
  CHECK(f.ModelEnabled(id, "three"));
  spec.models = std::vector<std::string>{"one"};
  Must(f.store->UpsertProvider(spec));
  CHECK(f.ModelEnabled(id, "one"));
  CHECK_FALSE(f.ModelEnabled(id, "two"));

  const absl::Status outside = f.store->EnsureModel(id, "four").status();
  CHECK(absl::IsInvalidArgument(outside));
  CHECK(outside.message() == "provider 'a' has a fixed list of models, and 'four' is not in it");

  spec.models.reset();
  Must(f.store->UpsertProvider(spec));
  CHECK_FALSE(f.Find("a")->fixed_models);
  CHECK(f.ModelEnabled(id, "two"));
}

TEST_CASE("provider: without a fixed list a disabled model stays disabled") {
  Fixture f;
  const std::string id = Must(f.store->UpsertProvider(SpecOf("a")));
  const std::string model = Must(f.store->EnsureModel(id, "m"));
  REQUIRE(f.store->SetModelEnabled(model, false).ok());
  Must(f.store->UpsertProvider(SpecOf("a")));
  CHECK_FALSE(f.ModelEnabled(id, "m"));
  CHECK(Must(f.store->EnsureModel(id, "m")) == model);
  CHECK_FALSE(f.ModelEnabled(id, "m"));
}

TEST_CASE("provider: an upsert that changes nothing publishes nothing") {
  Fixture f;
  ProviderSpec spec = SpecOf("a", "sk-a");
  spec.models = std::vector<std::string>{"m"};
  Must(f.store->UpsertProvider(spec));
  const auto before = f.store->Snapshot();
  Must(f.store->UpsertProvider(spec));
  CHECK(f.store->Snapshot() == before);
}

TEST_CASE("model: rows belong to a provider, once per id") {
  Fixture f;
  const std::string a = Must(f.store->UpsertProvider(SpecOf("a")));
  const std::string b = Must(f.store->UpsertProvider(SpecOf("b")));
  const std::string in_a = Must(f.store->EnsureModel(a, "z-ai/m"));
  CHECK(Must(f.store->EnsureModel(a, " z-ai/m ")) == in_a);
  CHECK(Must(f.store->EnsureModel(b, "z-ai/m")) != in_a);
  CHECK(f.store->Snapshot()->models().size() == 2);
  CHECK(absl::IsNotFound(f.store->EnsureModel(kStranger, "m").status()));
  CHECK(absl::IsInvalidArgument(f.store->EnsureModel(a, "").status()));
}

TEST_CASE("provider and model: switched off and on; absent ones are NotFound") {
  Fixture f;
  const std::string id = Must(f.store->UpsertProvider(SpecOf("a", "sk-a")));
  REQUIRE(f.store->SetProviderEnabled(id, false).ok());
  CHECK_FALSE(f.Find("a")->enabled);
  CHECK(f.Find("a")->api_key == Secret("sk-a"));
  const auto before = f.store->Snapshot();
  REQUIRE(f.store->SetProviderEnabled(id, false).ok());
  CHECK(f.store->Snapshot() == before);
  REQUIRE(f.store->SetProviderEnabled(id, true).ok());
  CHECK(f.Find("a")->enabled);
  CHECK(absl::IsNotFound(f.store->SetProviderEnabled(kStranger, true)));
  CHECK(absl::IsNotFound(f.store->SetModelEnabled(kStranger, true)));
}

TEST_CASE("delete provider: its models go, from groups too") {
  Fixture f;
  const std::vector<std::string> models = AddModels(*f.store, 2);
  const std::string group = Must(f.store->Create(GroupOf("g", models))).id;
  REQUIRE(f.store->DeleteProvider(f.Find("p1")->id).ok());
  CHECK(f.Find("p1") == nullptr);
  const auto snapshot = f.store->Snapshot();
  CHECK(snapshot->FindModel(models[0]) == nullptr);
  CHECK(snapshot->FindModel(models[1]) != nullptr);
  REQUIRE(Must(f.store->Get(group)).entries.size() == 1);
  CHECK(Must(f.store->Get(group)).entries[0].model_uuid == models[1]);
  CHECK(f.store->DeleteProvider(kStranger).ok());
}

}  // namespace
}  // namespace hotel::store
