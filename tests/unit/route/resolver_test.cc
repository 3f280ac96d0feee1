#include "libhotel/route/resolver.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/route/world.h"

namespace hotel::route {
namespace {

std::vector<std::string> Names(const Route& route) {
  std::vector<std::string> names;
  for (const Candidate& c : route.candidates)
    names.push_back(c.provider->routing_name + "/" + c.model);
  return names;
}

}  // namespace

TEST_CASE("group candidates come in priority order with the upstream model id") {
  const Route route = Three().Go("hotel/glm-4.6");
  CHECK_FALSE(route.direct);
  CHECK(Names(route) ==
        std::vector<std::string>{"a/z-ai/glm-4.6", "b/glm-4.6", "c/zai-org/GLM-4.6"});
}

TEST_CASE("the prefix is case-sensitive, the rest is lower-cased") {
  const World w = Three();
  CHECK(w.Go("hotel/GLM-4.6").candidates.size() == 3);
  const Route upper = w.Go("Hotel/glm-4.6");
  REQUIRE(upper.refusal);
  CHECK(upper.refusal->status == 404);
}

TEST_CASE("three reasons answer 404") {
  World w = Three();
  w.AddGroup("off", {"m-a-z-ai/glm-4.6"}).group_enabled = false;
  w.AddGroup("empty", {});
  const Route unknown = w.Go("hotel/NoSuch");
  REQUIRE(unknown.refusal);
  CHECK(unknown.refusal->status == 404);
  CHECK(unknown.refusal->message == "model not found: hotel/nosuch");
  const Route off = w.Go("hotel/off");
  REQUIRE(off.refusal);
  CHECK(off.refusal->message == "failover group disabled");
  const Route empty = w.Go("hotel/empty");
  REQUIRE(empty.refusal);
  CHECK(empty.refusal->message == "no entries in failover group");
}

TEST_CASE("a name without a form is 400 and names the group of that name (decisions 7)") {
  const World w = Three();
  for (const char* name : {"GLM-4.6", "/x"}) {
    const Route route = w.Go(name);
    REQUIRE(route.refusal);
    CHECK(route.refusal->status == 400);
  }
  CHECK(w.Go("GLM-4.6").refusal->message.find("hotel/glm-4.6") != std::string::npos);
  CHECK(w.Go("gpt").refusal->message.find("hotel/gpt") == std::string::npos);
}

TEST_CASE("entries, models and providers that are off or missing are skipped without a trace") {
  World w = Three();
  w.AddProvider("dark", false);
  auto& group = w.AddGroup("g", {w.AddModel("a", "on"), w.AddModel("a", "off", false),
                                 w.AddModel("dark", "x"), "m-gone", w.AddModel("b", "toggled")});
  group.entries.back().enabled = false;
  const Route route = w.Go("hotel/g");
  CHECK(Names(route) == std::vector<std::string>{"a/on"});
  CHECK(route.skipped.empty());
}

TEST_CASE("F019 a list that repeats a pair contacts it once") {
  World w = Three();
  const std::string id = w.AddModel("a", "same");
  w.AddGroup("twice", {id, w.AddModel("b", "other"), id});
  CHECK(Names(w.Go("hotel/twice")) == std::vector<std::string>{"a/same", "b/other"});
}

TEST_CASE("an open circuit leaves its candidate out and names its return") {
  World w = Three();
  w.Open("a", "z-ai/glm-4.6");
  const Route route = w.Go("hotel/glm-4.6");
  CHECK(route.candidates.size() == 2);
  REQUIRE(route.skipped.size() == 1);
  CHECK(route.skipped[0].candidate.model == "z-ai/glm-4.6");
  CHECK(route.earliest_retry() == w.now + std::chrono::seconds(60));
}

TEST_CASE("a direct name is a route of one that its open circuit does not stop (decisions 7)") {
  World w = Three();
  w.AddProvider("my provider");
  w.Open("a", "z-ai/glm-4.6");
  const Route route = w.Go("a/z-ai/glm-4.6");
  CHECK(route.direct);
  CHECK(Names(route) == std::vector<std::string>{"a/z-ai/glm-4.6"});
  CHECK(Names(w.Go("my-provider/any/thing")) == std::vector<std::string>{"my-provider/any/thing"});
  CHECK(w.Go("my provider/any").refusal);
}

TEST_CASE("a direct name outside of what exists is 404") {
  World w = Three();
  w.AddProvider("fixed", true, KeyState::kKeyless, true);
  w.AddModel("fixed", "listed");
  w.AddModel("fixed", "switched-off", false);
  w.AddProvider("dark", false);
  CHECK(w.Go("fixed/listed").candidates.size() == 1);
  for (const char* name : {"fixed/other", "fixed/switched-off", "dark/x", "nobody/x", "a/"}) {
    const Route route = w.Go(name);
    INFO(name);
    REQUIRE(route.refusal);
    CHECK(route.refusal->status == 404);
    CHECK(route.refusal->message == std::string("model not found: ") + name);
  }
}

TEST_CASE("keys that do not decrypt drop their candidates; all dropped is an error of its own") {
  World w;
  w.AddProvider("a", true, KeyState::kUndecryptable);
  w.AddProvider("b", true, KeyState::kUndecryptable);
  w.AddProvider("c");
  const std::string a = w.AddModel("a", "m");
  const std::string b = w.AddModel("b", "m");
  w.AddGroup("some", {a, w.AddModel("c", "m")});
  w.AddGroup("all", {a, b});
  CHECK(Names(w.Go("hotel/some")) == std::vector<std::string>{"c/m"});
  const Route all = w.Go("hotel/all");
  REQUIRE(all.refusal);
  CHECK(all.refusal->status == 500);
  CHECK(all.refusal->message == "all 2 candidate(s) failed key decryption (wrong master key?)");
}

namespace {

VirtualModelSpec Chat(VirtualModelSpec::Strategy strategy) {
  return {"resilient-chat", strategy, {{"a/one", "", 2}, {"b/two", "", 1}}};
}
constexpr auto kFailover = VirtualModelSpec::Strategy::kFailover;
constexpr auto kRoundRobin = VirtualModelSpec::Strategy::kRoundRobin;

}  // namespace

TEST_CASE("B2 a virtual model is its targets in order, the name is exact") {
  World w = Three();
  w.Virtual({Chat(kFailover)});
  CHECK(Names(w.Go("resilient-chat")) == std::vector<std::string>{"a/one", "b/two"});
  CHECK_FALSE(w.Go("resilient-chat").direct);
  CHECK(w.Go("Resilient-Chat").refusal.has_value());
}

TEST_CASE("B3 round robin changes the first target by weight, the rest follow as written") {
  World w = Three();
  w.Virtual({Chat(kRoundRobin)});
  std::string firsts;
  for (int i = 0; i < 6; ++i) {
    const Route route = w.Go("resilient-chat");
    REQUIRE(route.candidates.size() == 2);
    firsts += route.candidates[0].provider->routing_name;
  }
  CHECK(firsts == "abaaba");
}

TEST_CASE("B4 targets that are not there are left out, open circuits skipped without an attempt") {
  World w = Three();
  w.AddProvider("dark", false);
  w.Virtual({{"v", kFailover, {{"nobody/x"}, {"dark/x"}, {"a/z-ai/glm-4.6"}, {"b/two"}}}});
  w.Open("a", "z-ai/glm-4.6");
  const Route route = w.Go("v");
  CHECK(Names(route) == std::vector<std::string>{"b/two"});
  CHECK(route.skipped.size() == 1);
}

TEST_CASE("B6 a virtual model covers a real name, its own name as a target is the real one") {
  World w = Three();
  w.Virtual({{"a/one", kFailover, {{"b/two"}, {"a/one"}}}});
  CHECK(Names(w.Go("a/one")) == std::vector<std::string>{"b/two", "a/one"});
}

namespace {

std::vector<std::string> Unfit(const Route& route) {
  std::vector<std::string> names;
  for (const UnfitCandidate& u : route.unfit) {
    names.push_back(u.candidate.provider->routing_name + "/" + u.candidate.model + ": " +
                    std::string(u.reason));
  }
  return names;
}

/// `hotel/mixed` over providers of two families: chat, messages, chat.
World Mixed() {
  World w;
  w.AddProvider("openai");
  w.AddProvider("claude", true, KeyState::kKeyless, false, "anthropic-messages");
  w.AddProvider("other", true, KeyState::kKeyless, false, "deepseek");
  w.AddGroup("mixed",
             {w.AddModel("openai", "a"), w.AddModel("claude", "b"), w.AddModel("other", "c")});
  w.AddGroup("chat", {"m-openai-a", "m-other-c"});
  return w;
}

TEST_CASE("R88 groups and virtual models skip stale targets, R89 unless nobody else is left") {
  World w;
  w.AddProvider("a");
  w.AddProvider("b");
  w.AddGroup("g", {w.AddModel("a", "m"), w.AddModel("b", "m")});
  w.Virtual({{"v", VirtualModelSpec::Strategy::kFailover, {{"a/m"}, {"b/m"}}}});
  LeftOut one({"id-a"});
  w.inventory = &one;
  for (const char* name : {"hotel/g", "v"}) {
    const Route route = w.Go(name);
    REQUIRE(route.candidates.size() == 1);
    CHECK(route.candidates[0].provider->name == "b");
    REQUIRE(route.unfit.size() == 1);
    CHECK(route.unfit[0].reason == "its provider could not be listed (stale)");
  }
  LeftOut both({"id-a", "id-b"});
  w.inventory = &both;
  for (const char* name : {"hotel/g", "v"}) {
    const Route route = w.Go(name);
    REQUIRE(route.candidates.size() == 2);
    CHECK(route.candidates[0].provider->name == "a");
    CHECK(route.unfit.empty());
  }
}

TEST_CASE("R87 a direct name of a stale provider is sent") {
  World w;
  w.AddProvider("a");
  w.AddModel("a", "m");
  LeftOut all({"id-a"});
  w.inventory = &all;
  CHECK(w.Go("a/m").candidates.size() == 1);
}

}  // namespace

TEST_CASE(
    "Facts i: only those who speak the endpoint's dialect are candidates, the rest is noted") {
  const World w = Mixed();
  const Route chat = w.Go("hotel/mixed");
  CHECK(Names(chat) == std::vector<std::string>{"openai/a", "other/c"});
  CHECK(Unfit(chat) == std::vector<std::string>{"claude/b: does not speak this endpoint"});
  CHECK(chat.skipped.empty());
  CHECK(Names(w.Go("hotel/mixed", Endpoint::kMessages)) == std::vector<std::string>{"claude/b"});
  const Route responses = w.Go("hotel/mixed", Endpoint::kResponses);
  CHECK(Names(responses) == std::vector<std::string>{"openai/a"});
  CHECK(responses.unfit.size() == 2);
  CHECK_FALSE(responses.refusal);
}

TEST_CASE("Facts a: 400 when nobody behind the name speaks the dialect") {
  World w = Mixed();
  w.Virtual({{"v", VirtualModelSpec::Strategy::kFailover, {{"openai/a"}, {"other/c"}}}});
  for (const char* name : {"hotel/chat", "v", "openai/anything"}) {
    const Route route = w.Go(name, Endpoint::kMessages);
    INFO(name);
    REQUIRE(route.refusal);
    CHECK(route.refusal->status == 400);
    CHECK(route.refusal->code == "endpoint_not_supported");
    CHECK(route.refusal->message == "no provider of " + std::string(name) + " serves /v1/messages");
    CHECK(route.candidates.empty());
  }
  CHECK(w.Go("hotel/chat", Endpoint::kMessages).unfit.size() == 2);
  CHECK(w.Go("claude/b", Endpoint::kMessages).candidates.size() == 1);
}

TEST_CASE("an open circuit of one who speaks the dialect is waited for, not refused for good") {
  World w = Mixed();
  w.Open("claude", "b");
  const Route route = w.Go("hotel/mixed", Endpoint::kMessages);
  CHECK_FALSE(route.refusal);
  CHECK(route.candidates.empty());
  CHECK(route.skipped.size() == 1);
  CHECK(route.unfit.size() == 2);
}

TEST_CASE("f.7 11: embeddings stay with the base name of the first candidate, chat does not") {
  World w = Three();
  w.AddGroup("embed", {w.AddModel("a", "vendor/Text-Embed-3"), w.AddModel("b", "other-embed"),
                       w.AddModel("c", "text-embed-3")});
  const Route embeddings = w.Go("hotel/embed", Endpoint::kEmbeddings);
  CHECK(Names(embeddings) == std::vector<std::string>{"a/vendor/Text-Embed-3", "c/text-embed-3"});
  CHECK(Unfit(embeddings) == std::vector<std::string>{"b/other-embed: another embedding model"});
  CHECK(w.Go("hotel/embed").candidates.size() == 3);
  CHECK(w.Go("hotel/embed", Endpoint::kRerank).candidates.size() == 3);
}

TEST_CASE("f.7 11: the first embedding model counts also while its circuit is open") {
  World w = Three();
  w.AddGroup("embed",
             {w.AddModel("a", "embed-x"), w.AddModel("b", "embed-y"), w.AddModel("c", "embed-x")});
  w.Open("a", "embed-x");
  const Route route = w.Go("hotel/embed", Endpoint::kEmbeddings);
  CHECK(Names(route) == std::vector<std::string>{"c/embed-x"});
  CHECK(route.skipped.size() == 1);
  CHECK(Unfit(route) == std::vector<std::string>{"b/embed-y: another embedding model"});
}

TEST_CASE("a passthrough is a route of one by the provider's name") {
  World w = Three();
  w.AddProvider("my provider");
  w.AddProvider("dark", false);
  w.AddProvider("sealed", true, KeyState::kUndecryptable);
  w.Open("a", std::string(kAnyModel));
  for (const char* name : {"a", "my-provider"}) {
    const Route route = w.Go(name, Endpoint::kPassthrough);
    INFO(name);
    CHECK(route.direct);
    REQUIRE(route.candidates.size() == 1);
    CHECK(route.candidates[0].provider->routing_name == name);
    CHECK(route.candidates[0].model == kAnyModel);
  }
  for (const char* name : {"dark", "nobody", "hotel/glm-4.6", "a/z-ai/glm-4.6", ""}) {
    const Route route = w.Go(name, Endpoint::kPassthrough);
    INFO(name);
    REQUIRE(route.refusal);
    CHECK(route.refusal->status == 404);
    CHECK(route.refusal->code == "provider_not_found");
    CHECK(route.refusal->message == std::string("provider not found: ") + name);
  }
  CHECK(w.Go("sealed", Endpoint::kPassthrough).refusal->status == 500);
}

TEST_CASE("facts o a key's providers are the only ones that are asked; none left is a 403") {
  World w;
  w.AddProvider("a");
  w.AddProvider("b");
  w.AddGroup("g", {w.AddModel("a", "m"), w.AddModel("b", "m")});
  w.Virtual({{"v", kFailover, {{"a/m"}, {"b/m"}}}});
  const std::vector<std::string> only_b = {"id-b"};
  const std::vector<std::string> nobody;
  w.allowed = &only_b;
  const Route group = w.Go("hotel/g");
  REQUIRE(group.candidates.size() == 1);
  CHECK(group.candidates[0].provider->name == "b");
  REQUIRE(group.unfit.size() == 1);
  CHECK(group.unfit[0].reason == "not allowed for the virtual key");
  CHECK_FALSE(w.Go("b/m").refusal.has_value());
  CHECK(w.Go("v").candidates.size() == 1);
  for (const std::string name : {"a/m", "a/unlisted"}) CHECK(w.Go(name).refusal->status == 403);
  CHECK(w.Go("a", Endpoint::kPassthrough).refusal->status == 403);
  CHECK_FALSE(w.Go("b", Endpoint::kPassthrough).refusal.has_value());
  CHECK(w.Go("c/m").refusal->status == 404);
  // An open circuit of the one that is left is no refusal of the key.
  w.Open("b", "m");
  CHECK_FALSE(w.Go("hotel/g").refusal.has_value());
  w.allowed = &nobody;
  for (const std::string name : {"hotel/g", "b/m"}) {
    const Route route = w.Go(name);
    REQUIRE(route.refusal.has_value());
    CHECK(route.refusal->status == 403);
    CHECK(route.refusal->code == "provider_not_allowed");
    CHECK(route.refusal->kind == ErrorKind::kAuth);
  }
}

}  // namespace hotel::route
