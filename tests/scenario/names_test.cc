// From names to routes, and the answers of names that lead nowhere (facts g, i; decisions 7).
#include <algorithm>
#include <functional>

#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::string GroupId(const Harness& h, const std::string& name = "demo") {
  return h.store->Snapshot()->FindGroup(name)->id;
}

std::string ModelId(const Harness& h, const std::string& provider, const std::string& model = "m") {
  const auto snapshot = h.store->Snapshot();
  return snapshot->FindModel(snapshot->FindProvider(provider)->id, model)->id;
}

void CheckRefused(const Client& client, const Harness& h, int status, const std::string& body) {
  CHECK(client.status() == status);
  CHECK(client.body() == body);
  CHECK(client.header("content-type") == "application/json");
  CHECK(client.header("x-hotel-attempts") == "0");
  CHECK_FALSE(client.header("x-hotel-request-id").empty());
  CHECK(h.upstreams.seen().empty());
  CHECK(h.record().status == status);
  CHECK(h.record().attempts.empty());
}

TEST_CASE("facts g: the three 404s of a group name") {
  Harness h;
  h.Demo({"u1", "u2"});
  CheckRefused(h.Ask("hotel/nothing"), h, 404,
               ErrorBody("model not found: hotel/nothing", "not_found_error", "model_not_found"));
  CHECK(h.record().error_kind == ErrorKind::kValidation);
  CHECK(h.record().requested_model == "hotel/nothing");
  FailoverGroupPatch off;
  off.group_enabled = false;
  REQUIRE(h.store->Update(GroupId(h), off).ok());
  CheckRefused(h.Ask("hotel/demo"), h, 404,
               ErrorBody("failover group disabled", "not_found_error", "failover_group_disabled"));
}

TEST_CASE("F027 a group whose entries are all filtered out: 502, no Retry-After") {
  struct Row {
    const char* what;
    std::function<absl::Status(Harness&)> filter;
  };
  const Row rows[] = {
      {"one entry toggled off, the other's model disabled",
       [](Harness& h) {
         FailoverGroupPatch patch;
         patch.entry_enabled = {{ModelId(h, "u1"), false}};
         h.store->Update(GroupId(h), patch).status().IgnoreError();
         return h.store->SetModelEnabled(ModelId(h, "u2"), false);
       }},
      {"models disabled",
       [](Harness& h) {
         h.store->SetModelEnabled(ModelId(h, "u1"), false).IgnoreError();
         return h.store->SetModelEnabled(ModelId(h, "u2"), false);
       }},
      {"providers disabled",
       [](Harness& h) {
         const auto before = h.store->Snapshot();
         for (const auto& p : before->providers()) {
           h.store->SetProviderEnabled(p->id, false).IgnoreError();
         }
         return absl::OkStatus();
       }},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Harness h;
    h.Demo({"u1", "u2"});
    const absl::Status filtered = row.filter(h);
    INFO(filtered.ToString());
    REQUIRE(filtered.ok());
    const Client client = h.Ask();
    CheckRefused(
        client, h, 502,
        ErrorBody("no available provider for hotel/demo", "server_error", "no_available_provider"));
    CHECK(client.header("retry-after").empty());
    CHECK(h.record().error_kind == ErrorKind::kProviderError);
  }
}

TEST_CASE("decisions 10 a group whose models are gone has no entries: 404") {
  Harness h;
  h.Demo({"u1", "u2"});
  const auto before = h.store->Snapshot();
  for (const auto& p : before->providers()) REQUIRE(h.store->DeleteProvider(p->id).ok());
  const Client client = h.Ask();
  CheckRefused(
      client, h, 404,
      ErrorBody("no entries in failover group", "not_found_error", "failover_group_empty"));
}

TEST_CASE("a disabled entry, model or provider is left out, the others serve") {
  Harness h;
  h.Demo({"u1", "u2", "u3", "u4"}).On("u4", Script::Chat("Good day"));
  FailoverGroupPatch patch;
  patch.entry_enabled = {{ModelId(h, "u1"), false}};
  REQUIRE(h.store->Update(GroupId(h), patch).ok());
  REQUIRE(h.store->SetModelEnabled(ModelId(h, "u2"), false).ok());
  REQUIRE(h.store->SetProviderEnabled(h.store->Snapshot()->FindProvider("u3")->id, false).ok());
  const Client client = h.Ask();
  CHECK(client.header("x-hotel-provider") == "u4");
  CHECK(client.header("x-hotel-attempts") == "1");
  CHECK(h.upstreams.seen().size() == 1);
}

TEST_CASE("a new order of priority applies to the next request") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Chat("one")).On("u2", Script::Chat("two"));
  CHECK(h.Ask().header("x-hotel-provider") == "u1");
  FailoverGroupPatch patch;
  patch.priority_order = {ModelId(h, "u2"), ModelId(h, "u1")};
  REQUIRE(h.store->Update(GroupId(h), patch).ok());
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
}

TEST_CASE("decisions 7: the group name is matched in lower case, the prefix as it is") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  CHECK(h.Ask("hotel/DeMo").status() == 200);
  CHECK(h.Ask("Hotel/demo").status() == 404);
  CHECK(h.Calls("u1") == 1);
}

TEST_CASE("decisions 7: a name without a form is a 400 that names the forms and the group") {
  Harness h;
  h.Demo({"u1"});
  const std::string forms =
      R"(invalid model format: expected \"provider/model\" or \"hotel/group\")";
  CheckRefused(h.Ask("nothing"), h, 400,
               ErrorBody(forms, "invalid_request_error", "invalid_model_format"));
  CheckRefused(h.Ask("/m"), h, 400,
               ErrorBody(forms, "invalid_request_error", "invalid_model_format"));
  const Client client = h.Ask("Demo");
  CHECK(client.status() == 400);
  CHECK(client.body().find("hotel/demo") != std::string::npos);
  CHECK(h.record().error_kind == ErrorKind::kValidation);
}

TEST_CASE("F183 unknown providers, URLs as models and other fields lead nowhere") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  for (const char* model :
       {"http://evil.test/x", "u1x/m", "U1/m", "https:/x", "evil.test/m", "u1/"}) {
    INFO(model);
    CheckRefused(
        h.Ask(model), h, 404,
        ErrorBody(std::string("model not found: ") + model, "not_found_error", "model_not_found"));
  }
  // A model that looks like a URL is a model id of this provider and nothing else.
  h.Ask("u1/https://evil.test/x");
  REQUIRE(h.upstreams.seen().size() == 1);
  CHECK(h.Seen("u1").request.url == "https://u1.test/v1/chat/completions");
  CHECK(h.Seen("u1").body.find(R"("model":"https://evil.test/x")") != std::string::npos);
  Client client = h.Send(
      R"({"model":"u1/m","api_base":"https://evil.test","base_url":"https://evil.test","messages":[]})");
  h.Wait(client);
  CHECK(h.Seen("u1", 1).request.url == "https://u1.test/v1/chat/completions");
}

TEST_CASE("decisions 7: a direct name is split at the first slash") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  const Client client = h.Ask("u1/z-ai/glm-4.6");
  CHECK(client.status() == 200);
  CHECK(client.header("x-hotel-provider") == "u1");
  CHECK(client.header("x-hotel-model") == "z-ai/glm-4.6");
  CHECK(client.header("x-hotel-attempts") == "1");
  CHECK(h.Seen("u1").body == R"({"model":"z-ai/glm-4.6","messages":[]})");
  CHECK(h.record().resolved_model.empty());  // equal to what was asked behind the prefix
  CHECK(h.Circuit("u1", "z-ai/glm-4.6") == "closed 0");
}

TEST_CASE("a direct name of a disabled provider or model, or outside a fixed list, is a 404") {
  Harness h;
  h.Demo({"u1", "u2"});
  ProviderSpec fixed;
  fixed.name = "fixed";
  fixed.type = "openai";
  fixed.base_url = "https://fixed.test/v1";
  fixed.models = Lines{"known"};
  REQUIRE(h.store->UpsertProvider(fixed).ok());
  h.On("fixed", Script::Chat("Good day"));
  CHECK(h.Ask("fixed/known").status() == 200);
  CHECK(h.Ask("fixed/unknown").status() == 404);
  REQUIRE(h.store->SetModelEnabled(ModelId(h, "u1"), false).ok());
  CHECK(h.Ask("u1/m").status() == 404);
  REQUIRE(h.store->SetProviderEnabled(h.store->Snapshot()->FindProvider("u2")->id, false).ok());
  CHECK(h.Ask("u2/m").status() == 404);
  CHECK(h.upstreams.seen().size() == 1);
}

TEST_CASE("a provider's name with spaces is addressed in hyphen form") {
  Harness h;
  testing::AddProvider(*h.store, "my own provider");
  testing::AddGroup(*h.store, "mine", {"my-own-provider/m"});
  h.On("my-own-provider", Script::Chat("Good day"));
  for (const char* model : {"my-own-provider/m", "hotel/mine"}) {
    const Client client = h.Ask(model);
    CHECK(client.status() == 200);
    CHECK(client.header("x-hotel-provider") == "my-own-provider");
  }
  CHECK(h.Ask("my own provider/m").status() == 404);
  h.upstreams.Clear(Url("my-own-provider"));
  h.On("my-own-provider", Script::Json(503, ""));
  CHECK(Message(h.Ask("hotel/mine").body()) ==
        "the provider failed to serve this request (provider my own provider, upstream HTTP 503)");
}

TEST_CASE("F019 no pair twice in a group, no group in a group, each pair contacted once") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(501, "")).On("u2", Script::Json(501, ""));
  const std::string one = ModelId(h, "u1");
  CHECK_FALSE(h.store->UpsertGroup("again", {one, ModelId(h, "u2"), one}).ok());
  CHECK_THROWS(testing::AddGroup(*h.store, "nested", {"hotel/demo", "u1/m"}));
  CHECK(h.Ask().status() == 501);
  CHECK(h.Calls("u1") == 1);
  CHECK(h.Calls("u2") == 1);
}

TEST_CASE("facts i: the models a client may name") {
  Harness h;
  h.Demo({"u1", "u2"});
  testing::AddGroup(*h.store, "off", {"u1/x", "u2/x"});
  FailoverGroupPatch off;
  off.group_enabled = false;
  REQUIRE(h.store->Update(GroupId(h, "off"), off).ok());
  REQUIRE(h.store->SetModelEnabled(ModelId(h, "u1", "m"), false).ok());
  Lines rows;
  for (const ModelListing& row : h.router->Models(nullptr)) {
    rows.push_back(row.id + " " + row.owned_by + " " + row.provider);
  }
  std::sort(rows.begin(), rows.end() - 1);
  CHECK(rows == Lines{"u1/x u1 u1", "u2/m u2 u2", "u2/x u2 u2", "hotel/demo hotel u2"});
}

}  // namespace
}  // namespace hotel::scenario
