// Credentials: whose goes where, and what a lost master key looks like (F139; decisions 7).
#include <cstdlib>
#include <filesystem>

#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

constexpr const char* kKey1 = "sk-first-0123456789abcdef0123456789";
constexpr const char* kKey2 = "sk-second-0123456789abcdef0123456789";

/// A directory that is gone with this object.
struct TempDir {
  TempDir() {
    std::string name = std::filesystem::temp_directory_path() / "hotel-scenario-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string path;
};

std::unique_ptr<Store> OpenStore(const std::string& path, const std::string& master_key,
                                 const Clock* clock) {
  StoreOptions options;
  options.path = path;
  options.master_key = Secret(master_key);
  auto store = OpenSqliteStore(options, clock);
  REQUIRE(store.ok());
  return *std::move(store);
}

std::string AllHeaders(const testing::SeenRequest& seen) {
  std::string all;
  for (const Header& header : seen.request.headers) all += header.name + ": " + header.value + "\n";
  return all;
}

TEST_CASE("F139 each attempt carries its own provider's credential and nothing of the client") {
  Harness h;
  testing::AddProvider(*h.store, "u1", kKey1);
  testing::AddProvider(*h.store, "u2", kKey2, "anthropic");
  testing::AddProvider(*h.store, "u3");
  testing::AddGroup(*h.store, "demo", {"u1/m", "u2/m", "u3/m"});
  h.On("u1", Script::Json(500, "")).On("u2", Script::Json(500, "")).On("u3", Script::Chat("Hi"));
  CHECK(h.Ask().status() == 200);
  const testing::SeenRequest& first = h.Seen("u1");
  CHECK(FindHeader(first.request.headers, "authorization") == std::string("Bearer ") + kKey1);
  CHECK(AllHeaders(first).find(kKey2) == std::string::npos);
  const testing::SeenRequest& second = h.Seen("u2");
  CHECK(FindHeader(second.request.headers, "x-api-key") == kKey2);
  CHECK(FindHeader(second.request.headers, "anthropic-version") == "2023-06-01");
  CHECK(AllHeaders(second).find(kKey1) == std::string::npos);
  CHECK(FindHeader(second.request.headers, "authorization").empty());
  const testing::SeenRequest& third = h.Seen("u3");
  CHECK(FindHeader(third.request.headers, "authorization").empty());
  for (const testing::SeenRequest* seen : {&first, &second, &third}) {
    CHECK(FindHeader(seen->request.headers, "content-type") == "application/json");
    CHECK(AllHeaders(*seen).find("dev") == std::string::npos);  // the client's key name
    CHECK(AllHeaders(*seen).find("x-hotel") == std::string::npos);
  }
}

TEST_CASE("a provider that quotes its key does not get it to the client or into the record") {
  for (const bool stream : {false, true}) {
    INFO((stream ? "stream" : "refusal"));
    Harness h;
    testing::AddProvider(*h.store, "u1", kKey1);
    testing::AddGroup(*h.store, "demo", {"u1/m"});
    const std::string words =
        std::string(R"({"error":{"message":"key )") + kKey1 + R"( may not","code":"400"}})";
    h.On("u1", stream ? Open({Text("x"), "data: " + words}).End() : Script::Json(400, words));
    const Client client = h.Ask("hotel/demo", stream);
    CHECK(client.body().find(kKey1) == std::string::npos);
    CHECK(client.body().find("may not") != std::string::npos);
    CHECK(client.status() == (stream ? 200 : 400));
    CHECK(h.record().error_message.find(kKey1) == std::string::npos);
    for (const AttemptRecord& attempt : h.record().attempts) {
      CHECK(attempt.detail.find(kKey1) == std::string::npos);
      CHECK(attempt.detail.size() <= 160);
    }
  }
}

TEST_CASE("decisions 7: all keys undecryptable is a 500 that says so; one keyless sibling serves") {
  TempDir dir;
  testing::ManualClock clock;
  const std::string path = dir.path + "/hotel.db";
  {
    const auto store = OpenStore(path, "the master key these were sealed with", &clock);
    testing::AddProvider(*store, "u1", kKey1);
    testing::AddProvider(*store, "u2", kKey2);
    testing::AddProvider(*store, "u3");
    testing::AddGroup(*store, "locked", {"u1/m", "u2/m"});
    testing::AddGroup(*store, "mixed", {"u1/m", "u3/m"});
  }
  Harness h(Settings::Defaults(), OpenStore(path, "another master key altogether", &clock));
  h.On("u3", Script::Chat("Good day"));
  const Client locked = h.Ask("hotel/locked");
  CHECK(locked.status() == 500);
  CHECK(locked.body() == ErrorBody("all 2 candidate(s) failed key decryption (wrong master key?)",
                                   "server_error", "keys_undecryptable"));
  CHECK(h.record().error_kind == ErrorKind::kInternal);
  CHECK(h.Ask("u1/m").status() == 500);
  CHECK(h.upstreams.seen().empty());
  CHECK(h.Circuit("u1") == "none");
  const Client mixed = h.Ask("hotel/mixed");
  CHECK(mixed.status() == 200);
  CHECK(mixed.header("x-hotel-provider") == "u3");
}

}  // namespace
}  // namespace hotel::scenario
