#include "libhotel/wire/upstream.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "libhotel/base/provider_types.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

std::string Url(std::string type, std::string base_url) {
  Provider provider;
  provider.type = std::move(type);
  provider.base_url = std::move(base_url);
  return UpstreamUrl(provider, Endpoint::kChatCompletions);
}

Provider WithKey(std::string type, std::string key) {
  Provider provider;
  provider.name = "Acme";
  provider.type = std::move(type);
  provider.base_url = "https://h";
  provider.key_state = KeyState::kReady;
  provider.api_key = Secret(std::move(key));
  return provider;
}

TEST_CASE("F153 common spellings of a base URL give one /v1") {
  CHECK(Url("openai", "http://h") == "http://h/v1/chat/completions");
  CHECK(Url("openai", "http://h/") == "http://h/v1/chat/completions");
  CHECK(Url("openai", "http://h/v1") == "http://h/v1/chat/completions");
  CHECK(Url("openai", "http://h/v1/") == "http://h/v1/chat/completions");
  CHECK(Url("openai", "http://h:8080//v1//") == "http://h:8080/v1/chat/completions");
  CHECK(Url("openai", "http://h/api/v1") == "http://h/api/v1/chat/completions");
  CHECK(Url("openai", "http://h/v1beta/openai/") == "http://h/v1beta/openai/chat/completions");
  CHECK(Url("openai", "http://h/v1?x=1") == "http://h/v1/chat/completions?x=1");
  CHECK(Url("openai", "http://h?x=/v9") == "http://h/v1/chat/completions?x=/v9");
  CHECK(Url("openai", "http://h/v1?") == "http://h/v1/chat/completions");
  CHECK(Url("openai", "http://h/v1#part") == "http://h/v1/chat/completions");
  CHECK(Url("openai", "http://[::1]:9/v1") == "http://[::1]:9/v1/chat/completions");
}

TEST_CASE("F153 a custom prefix is kept as it is") {
  CHECK(Url("custom", "https://h/inference") == "https://h/inference/chat/completions");
  CHECK(Url("zai-coding", "https://h/api/coding/paas/v4") ==
        "https://h/api/coding/paas/v4/chat/completions");
  CHECK(Url("cohere", "https://h/compatibility/v1") ==
        "https://h/compatibility/v1/chat/completions");
}

TEST_CASE("Facts i: some types get /v1 behind any path without a version") {
  for (const char* type : {"anthropic", "anthropic-messages", "ollama", "lmstudio", "koboldcpp",
                           "vertex-express", "vllm"}) {
    INFO(type);
    CHECK(Url(type, "http://h") == "http://h/v1/chat/completions");
    CHECK(Url(type, "http://h/proxy") == "http://h/proxy/v1/chat/completions");
    CHECK(Url(type, "http://h/proxy/v1/") == "http://h/proxy/v1/chat/completions");
    CHECK(Url(type, "http://h/v1beta1/x") == "http://h/v1beta1/x/chat/completions");
    CHECK(Url(type, "http://h/vault") == "http://h/vault/v1/chat/completions");
  }
}

TEST_CASE("Facts i: azure is scheme://host/openai/v1 whatever the path") {
  CHECK(Url("azure", "https://r.openai.azure.com") ==
        "https://r.openai.azure.com/openai/v1/chat/completions");
  CHECK(Url("azure", "https://r.openai.azure.com/openai/v1/") ==
        "https://r.openai.azure.com/openai/v1/chat/completions");
  CHECK(Url("azure", "https://r.services.ai.azure.com/api/projects/p?api-version=preview") ==
        "https://r.services.ai.azure.com/openai/v1/chat/completions?api-version=preview");
}

TEST_CASE("Facts k: every known type has its row, unknown ones have none") {
  for (const std::string_view name : base::kProviderTypeNames) {
    INFO(name);
    REQUIRE(FindProviderType(name) != nullptr);
    CHECK(FindProviderType(name)->name == name);
  }
  CHECK(ProviderTypeNames().size() == base::kProviderTypeNames.size());
  CHECK(FindProviderType("openAI") == nullptr);
  CHECK(FindProviderType("") == nullptr);
}

TEST_CASE("Facts i: the credential is written as the type wants it") {
  const HeaderList bearer = *UpstreamHeaders(WithKey("openai", "k-1"), false);
  CHECK(FindHeader(bearer, "authorization") == "Bearer k-1");
  CHECK(FindHeader(bearer, "x-api-key").empty());
  CHECK(FindHeader(bearer, "anthropic-version").empty());
  for (const char* type : {"anthropic", "anthropic-messages"}) {
    const HeaderList anthropic = *UpstreamHeaders(WithKey(type, "k-1"), false);
    CHECK(FindHeader(anthropic, "x-api-key") == "k-1");
    CHECK(FindHeader(anthropic, "anthropic-version") == "2023-06-01");
    CHECK(FindHeader(anthropic, "authorization").empty());
  }
  const HeaderList google = *UpstreamHeaders(WithKey("vertex-express", "k-1"), false);
  CHECK(FindHeader(google, "x-goog-api-key") == "k-1");
  CHECK(FindHeader(google, "authorization").empty());
}

TEST_CASE("Facts i: a keyless provider gets no credential") {
  for (const std::string_view type : base::kProviderTypeNames) {
    Provider provider;
    provider.type = std::string(type);
    const HeaderList headers = *UpstreamHeaders(provider, true);
    for (const Header& header : headers) {
      INFO(header.name);
      CHECK((header.name == "content-type" || header.name == "accept" ||
             header.name == "user-agent" || header.name == "anthropic-version"));
    }
  }
}

TEST_CASE("F139 the header list is content type, accept, user agent and the credential") {
  const HeaderList headers = *UpstreamHeaders(WithKey("openai", "k-1"), true);
  REQUIRE(headers.size() == 4);
  CHECK(FindHeader(headers, "content-type") == "application/json");
  CHECK(FindHeader(headers, "accept") == "text/event-stream");
  CHECK(FindHeader(headers, "user-agent") == "hotel");
  CHECK(FindHeader(*UpstreamHeaders(WithKey("openai", "k-1"), false), "accept") ==
        "application/json");
}

TEST_CASE("Headers: a key that cannot stand in a header is refused and not repeated") {
  for (const std::string& key :
       {std::string("k\r\nx-evil: 1"), std::string("k\n"), std::string("k\0k", 3),
        std::string("k\x7f"), std::string("\x01k")}) {
    const absl::StatusOr<HeaderList> headers = UpstreamHeaders(WithKey("openai", key), false);
    REQUIRE(headers.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(headers.status().message() ==
          "the key of provider \"Acme\" holds a character that cannot stand in a header");
  }
}

TEST_CASE("Headers: a key that is not at hand is refused, never left out") {
  Provider provider = WithKey("openai", "");
  CHECK_FALSE(UpstreamHeaders(provider, false).ok());
  provider.key_state = KeyState::kUndecryptable;
  CHECK_FALSE(UpstreamHeaders(provider, false).ok());
}

}  // namespace
}  // namespace hotel::wire
