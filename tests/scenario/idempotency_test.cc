// Idempotency keys: with every call to the first target, never to another one (R18-R21).
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Client AskWith(Harness& h, const std::string& key, const std::string& model = "hotel/demo") {
  RouteRequest request;
  request.body = std::make_shared<const std::string>(
      R"({"model":")" + model + R"(","messages":[{"role":"user","content":"x"}]})");
  request.idempotency_key = key;
  Client client = h.Send(std::move(request));
  h.Wait(client);
  return client;
}

std::string KeyOf(const testing::SeenRequest& seen) {
  return std::string(FindHeader(seen.request.headers, "idempotency-key"));
}

Settings WithRetries() {
  Settings settings = Settings::Defaults();
  settings.global.retry.retry_on_statuses.AddCode(503);
  settings.global.retry.max_retries = 2;
  return settings;
}

}  // namespace

TEST_CASE("R18 the key goes unchanged with the call and with every repeat of it") {
  Harness h(WithRetries());
  h.Demo({"u1"});
  h.On("u1", Script::Json(503, "")).On("u1", Script::Json(503, "")).On("u1", Script::Chat("Hi"));
  CHECK(AskWith(h, "order-17").status() == 200);
  REQUIRE(h.Calls("u1") == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(KeyOf(h.Seen("u1", i)) == "order-17");
}

TEST_CASE("R18 the last candidate's repeat is the same call as far as the provider can tell") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(503, "")).On("u1", Script::Chat("Hi"));
  CHECK(AskWith(h, "k").status() == 200);
  REQUIRE(h.Calls("u1") == 2);
  CHECK(KeyOf(h.Seen("u1", 1)) == "k");
}

TEST_CASE("R19 a failover to another target goes out without the key") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(500, "")).On("u2", Script::Chat("Hi"));
  CHECK(AskWith(h, "k").header("x-hotel-provider") == "u2");
  CHECK(KeyOf(h.Seen("u1")) == "k");
  CHECK(KeyOf(h.Seen("u2")) == "");
}

TEST_CASE("R21 a key that is no visible ASCII of at most 255 characters is ignored") {
  const std::pair<std::string, std::string> rows[] = {
      {"  padded  ", "padded"},
      {std::string(255, 'k'), std::string(255, 'k')},
      {std::string(256, 'k'), ""},
      {"two words", ""},
      {"caf\xc3\xa9", ""},
      {"", ""},
      {"   ", ""},
  };
  for (const auto& [key, sent] : rows) {
    INFO(key);
    Harness h;
    h.Demo({"u1"}).On("u1", Script::Chat("Hi"));
    CHECK(AskWith(h, key).status() == 200);
    CHECK(KeyOf(h.Seen("u1")) == sent);
  }
}

}  // namespace hotel::scenario
