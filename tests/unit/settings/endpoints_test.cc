// failover.endpoints: a list of endpoints (decisions 2).
#include <string>

#include "libhotel/settings/registry.h"
#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel;
using namespace hotel::settings;

EndpointSet EndpointsOf(const std::string& yaml) {
  const ReadResult result = Read(yaml);
  REQUIRE(result.errors.empty());
  return result.config.settings.global.failover.endpoints;
}

std::string Spelled(const std::string& text) {
  const Option* option = FindOption("failover.endpoints");
  REQUIRE(option != nullptr);
  const auto value = ParseOption(*option, text, false);
  return value.ok() ? FormatOption(*option, *value) : std::string(value.status().message());
}

}  // namespace

TEST_CASE("decisions 2 endpoints are written as words, each once, in the order of the table") {
  CHECK(Spelled("all") == "all");
  CHECK(Spelled("stt, chat ,image") == "chat,image,stt");
  CHECK(Spelled("[responses,messages]") == "messages,responses");
  CHECK(Spelled("none").empty());
  CHECK(Spelled("[]").empty());
  CHECK(Spelled("chat,messages,responses,embeddings,rerank,image,tts,stt") == "all");
  for (const char* bad : {"passthrough", "chat,", "Chat", "images"}) {
    CHECK(Spelled(bad) ==
          "is not a list of endpoints; write all, or some of chat, messages, responses, "
          "embeddings, rerank, image, tts, stt");
  }
}

TEST_CASE("decisions 2 a word stands for every endpoint of its kind, the passthrough for none") {
  EndpointSet set;
  REQUIRE(AddEndpoint("image", &set));
  for (const Endpoint endpoint :
       {Endpoint::kImageGenerations, Endpoint::kImageEdits, Endpoint::kImageVariations}) {
    CHECK(set.Contains(endpoint));
  }
  CHECK_FALSE(set.Contains(Endpoint::kSpeech));
  REQUIRE(AddEndpoint("stt", &set));
  CHECK(set.Contains(Endpoint::kTranslations));
  CHECK_FALSE(AddEndpoint("passthrough", &set));
  CHECK_FALSE(EndpointSet::All().Contains(Endpoint::kPassthrough));
  CHECK_FALSE(set.Add(Endpoint::kPassthrough).Contains(Endpoint::kPassthrough));
}

TEST_CASE(
    "decisions 2 the file takes a list or a word; what is no endpoint is told with its line") {
  EndpointSet two;
  two.Add(Endpoint::kChatCompletions).Add(Endpoint::kEmbeddings);
  CHECK(EndpointsOf("failover:\n  endpoints: [embeddings, chat]\n") == two);
  CHECK(EndpointsOf("failover:\n  endpoints: all\n") == EndpointSet::All());
  CHECK(EndpointsOf("failover:\n  endpoints: []\n") == EndpointSet());
  CHECK(EndpointsOf("profile: failover_first\n") == EndpointSet::All());
  CHECK_FALSE(EndpointsOf("profile: retry_first\n").Contains(Endpoint::kEmbeddings));
  CHECK(Errors("failover:\n  endpoints: [chat, audio]\n") ==
        "h.yaml:2: failover.endpoints[1]: \"audio\" is not an endpoint; write all or one of chat, "
        "messages, responses, embeddings, rerank, image, tts and stt");
}
