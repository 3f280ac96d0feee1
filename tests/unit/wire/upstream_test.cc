#include "libhotel/wire/upstream.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "libhotel/base/provider_types.h"
#include "libhotel/wire/endpoints.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

Provider At(std::string type, std::string base_url) {
  Provider provider;
  provider.type = std::move(type);
  provider.base_url = std::move(base_url);
  return provider;
}

std::string Url(std::string type, std::string base_url,
                Endpoint endpoint = Endpoint::kChatCompletions) {
  return UpstreamUrl(At(std::move(type), std::move(base_url)), endpoint);
}

absl::StatusOr<HeaderList> JsonHeaders(const Provider& provider, bool streaming = false) {
  return UpstreamHeaders(provider, "application/json",
                         streaming ? Accept::kEventStream : Accept::kJson);
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

TEST_CASE("Facts i: every endpoint has its path behind the base URL") {
  for (const EndpointRow& row : Endpoints()) {
    if (row.endpoint == Endpoint::kPassthrough) continue;
    INFO(row.path);
    CHECK(Url("openai", "http://h/v1", row.endpoint) == "http://h/v1" + std::string(row.path));
    CHECK(FindEndpoint("/v1" + std::string(row.path)) == &row);
    CHECK(FindEndpoint(row.path) == nullptr);
    CHECK(FindEndpoint("/v1" + std::string(row.path) + "/") == nullptr);
    CHECK(EndpointName(row.endpoint) == std::string(row.name));
  }
  CHECK(Url("anthropic", "https://api.anthropic.com", Endpoint::kMessages) ==
        "https://api.anthropic.com/v1/messages");
  CHECK(FindEndpoint("/v1") == nullptr);
  CHECK(FindEndpoint("") == nullptr);
}

TEST_CASE("Facts i: Cohere reranks beside its compatibility API") {
  const auto rerank = [](const char* base) { return Url("cohere", base, Endpoint::kRerank); };
  CHECK(rerank("https://api.cohere.ai/compatibility/v1") == "https://api.cohere.ai/v2/rerank");
  CHECK(rerank("https://api.cohere.ai/compatibility/v1/") == "https://api.cohere.ai/v2/rerank");
  CHECK(rerank("https://api.cohere.ai") == "https://api.cohere.ai/v2/rerank");
  CHECK(rerank("https://api.cohere.ai/v2") == "https://api.cohere.ai/v2/rerank");
  CHECK(rerank("https://h/eu/compatibility/v1?x=1") == "https://h/eu/v2/rerank?x=1");
  CHECK(rerank("https://h/incompatibility/v1") == "https://h/incompatibility/v2/rerank");
  CHECK(Url("cohere", "https://api.cohere.ai/compatibility/v1", Endpoint::kEmbeddings) ==
        "https://api.cohere.ai/compatibility/v1/embeddings");
  CHECK(Url("openai", "https://h/v1", Endpoint::kRerank) == "https://h/v1/rerank");
}

TEST_CASE("Facts i: NanoGPT images are not part of its subscription") {
  const char* base = "https://nano-gpt.com/api/subscription/v1";
  for (const Endpoint image :
       {Endpoint::kImageGenerations, Endpoint::kImageEdits, Endpoint::kImageVariations}) {
    CHECK(Url("nanogpt", base, image) ==
          "https://nano-gpt.com/api/v1" + std::string(RowOf(image).path));
  }
  CHECK(Url("nanogpt", base) == "https://nano-gpt.com/api/subscription/v1/chat/completions");
  CHECK(Url("nanogpt", "https://h/subscriptions/v1", Endpoint::kImageEdits) ==
        "https://h/subscriptions/v1/images/edits");
  CHECK(Url("openai", "https://h/subscription/v1", Endpoint::kImageEdits) ==
        "https://h/subscription/v1/images/edits");
}

TEST_CASE("R29 a passthrough target stands behind the base URL byte for byte") {
  const auto url = [](const char* type, const char* base, const char* target) {
    return PassthroughUrl(At(type, base), target);
  };
  CHECK(url("openai", "http://h/v1", "/files/f%2F1?a=b%20c&a") ==
        "http://h/v1/files/f%2F1?a=b%20c&a");
  CHECK(url("openai", "http://h/v1/", "/files/") == "http://h/v1/files/");
  CHECK(url("openai", "http://h", "/x") == "http://h/x");  // no /v1 of ours
  CHECK(url("anthropic", "http://h", "/v1/messages/batches") == "http://h/v1/messages/batches");
  CHECK(url("azure", "http://h/openai/deployments/d", "/x?api-version=1") ==
        "http://h/openai/deployments/d/x?api-version=1");
  CHECK(url("openai", "http://h/v1?k=1", "/x") == "http://h/v1/x?k=1");
  CHECK(url("openai", "http://h/v1?k=1", "/x?y=2?z") == "http://h/v1/x?k=1&y=2?z");
  CHECK(url("openai", "http://h/v1", "/x?") == "http://h/v1/x?");
  CHECK(url("openai", "http://h/v1", "//a//b") == "http://h/v1//a//b");
}

TEST_CASE("Facts h, i: who speaks which dialect") {
  for (const std::string_view name : base::kProviderTypeNames) {
    INFO(name);
    const bool anthropic = name == "anthropic" || name == "anthropic-messages";
    CHECK(Speaks(name, Endpoint::kMessages) == anthropic);
    CHECK(Speaks(name, Endpoint::kChatCompletions) == (name != "anthropic-messages"));
    CHECK(Speaks(name, Endpoint::kEmbeddings) == !anthropic);
    CHECK(Speaks(name, Endpoint::kTranscriptions) == !anthropic);
    CHECK(Speaks(name, Endpoint::kPassthrough));
  }
  for (const char* name : {"openai", "azure", "xai", "openrouter", "custom", "vllm"}) {
    CHECK(Speaks(name, Endpoint::kResponses));
  }
  for (const char* name : {"anthropic", "google", "cohere", "deepseek", "zai-coding"}) {
    CHECK_FALSE(Speaks(name, Endpoint::kResponses));
  }
  CHECK(Speaks("something-new", Endpoint::kResponses));
  CHECK_FALSE(Speaks("something-new", Endpoint::kMessages));
}

TEST_CASE("Facts h: who is not asked for usage in a stream") {
  for (const std::string_view name : base::kProviderTypeNames) {
    const bool left_out = name == "anthropic" || name == "anthropic-messages" || name == "google" ||
                          name == "cohere" || name == "opencode-go" || name == "opencode-zen";
    INFO(name);
    CHECK(FindProviderType(name)->include_usage == !left_out);
  }
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
  const HeaderList bearer = *JsonHeaders(WithKey("openai", "k-1"), false);
  CHECK(FindHeader(bearer, "authorization") == "Bearer k-1");
  CHECK(FindHeader(bearer, "x-api-key").empty());
  CHECK(FindHeader(bearer, "anthropic-version").empty());
  for (const char* type : {"anthropic", "anthropic-messages"}) {
    const HeaderList anthropic = *JsonHeaders(WithKey(type, "k-1"), false);
    CHECK(FindHeader(anthropic, "x-api-key") == "k-1");
    CHECK(FindHeader(anthropic, "anthropic-version") == "2023-06-01");
    CHECK(FindHeader(anthropic, "authorization").empty());
  }
  const HeaderList google = *JsonHeaders(WithKey("vertex-express", "k-1"), false);
  CHECK(FindHeader(google, "x-goog-api-key") == "k-1");
  CHECK(FindHeader(google, "authorization").empty());
}

TEST_CASE("Facts i: a keyless provider gets no credential") {
  for (const std::string_view type : base::kProviderTypeNames) {
    Provider provider;
    provider.type = std::string(type);
    const HeaderList headers = *JsonHeaders(provider, true);
    for (const Header& header : headers) {
      INFO(header.name);
      CHECK((header.name == "content-type" || header.name == "accept" ||
             header.name == "user-agent" || header.name == "anthropic-version"));
    }
  }
}

TEST_CASE("F139 the header list is content type, accept, user agent and the credential") {
  const HeaderList headers = *JsonHeaders(WithKey("openai", "k-1"), true);
  REQUIRE(headers.size() == 4);
  CHECK(FindHeader(headers, "content-type") == "application/json");
  CHECK(FindHeader(headers, "accept") == "text/event-stream");
  CHECK(FindHeader(headers, "user-agent") == "hotel");
  CHECK(FindHeader(*JsonHeaders(WithKey("openai", "k-1"), false), "accept") == "application/json");
}

TEST_CASE("Headers: content type and accept are what the request asks for") {
  const Provider provider = WithKey("openai", "k-1");
  const char* form = "multipart/form-data; boundary=\"a b\"";
  const HeaderList headers = *UpstreamHeaders(provider, form, Accept::kAnything);
  CHECK(FindHeader(headers, "content-type") == form);
  CHECK(FindHeader(headers, "accept") == "*/*");
  for (const char* bad : {"multipart/form-data\r\nx: y", "a\x01"}) {
    CHECK(UpstreamHeaders(provider, bad, Accept::kJson).status().code() ==
          absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("Headers: what the passthrough adds is user agent, API version and credential") {
  const HeaderList bearer = *CredentialHeaders(WithKey("openai", "k-1"));
  REQUIRE(bearer.size() == 2);
  CHECK(FindHeader(bearer, "user-agent") == "hotel");
  CHECK(FindHeader(bearer, "authorization") == "Bearer k-1");
  const HeaderList key = *CredentialHeaders(WithKey("anthropic", "k-1"));
  REQUIRE(key.size() == 3);
  CHECK(FindHeader(key, "anthropic-version") == "2023-06-01");
  CHECK(FindHeader(key, "x-api-key") == "k-1");
  CHECK(CredentialHeaders(At("openai", "http://h"))->size() == 1);
  CHECK_FALSE(CredentialHeaders(WithKey("openai", "a\nb")).ok());
  CHECK_FALSE(CredentialHeaders(WithKey("openai", "")).ok());
}

TEST_CASE("Headers: a key that cannot stand in a header is refused and not repeated") {
  for (const std::string& key :
       {std::string("k\r\nx-evil: 1"), std::string("k\n"), std::string("k\0k", 3),
        std::string("k\x7f"), std::string("\x01k")}) {
    const absl::StatusOr<HeaderList> headers = JsonHeaders(WithKey("openai", key), false);
    REQUIRE(headers.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(headers.status().message() ==
          "the key of provider \"Acme\" holds a character that cannot stand in a header");
  }
}

TEST_CASE("Headers: a key that is not at hand is refused, never left out") {
  Provider provider = WithKey("openai", "");
  CHECK_FALSE(JsonHeaders(provider, false).ok());
  provider.key_state = KeyState::kUndecryptable;
  CHECK_FALSE(JsonHeaders(provider, false).ok());
}

TEST_CASE("docs/endpoints.md is generated from the tables") {
  if (std::getenv("HOTEL_UPDATE_DOCS") != nullptr) {
    std::ofstream(HOTEL_SOURCE_DIR "/docs/endpoints.md") << EndpointsMarkdown();
  }
  std::ifstream file(HOTEL_SOURCE_DIR "/docs/endpoints.md");
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(text.str() == EndpointsMarkdown());
}

}  // namespace
}  // namespace hotel::wire
