#include "libhotel/wire/endpoints.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "libhotel/base/strings.h"
#include "libhotel/wire/upstream.h"

namespace hotel::wire {
namespace {

constexpr std::string_view kVersionPrefix = "/v1";

constexpr std::array<EndpointRow, 12> kEndpoints = {{
    {Endpoint::kChatCompletions, "chat", "/chat/completions", Dialect::kChat, BodyForm::kJson},
    {Endpoint::kMessages, "messages", "/messages", Dialect::kMessages, BodyForm::kJson},
    {Endpoint::kResponses, "responses", "/responses", Dialect::kResponses, BodyForm::kJson},
    {Endpoint::kEmbeddings, "embeddings", "/embeddings", Dialect::kPlain, BodyForm::kJson},
    {Endpoint::kRerank, "rerank", "/rerank", Dialect::kPlain, BodyForm::kJson},
    {Endpoint::kImageGenerations, "image", "/images/generations", Dialect::kPlain, BodyForm::kJson},
    {Endpoint::kImageEdits, "image", "/images/edits", Dialect::kPlain, BodyForm::kMultipart},
    {Endpoint::kImageVariations, "image", "/images/variations", Dialect::kPlain,
     BodyForm::kMultipart},
    {Endpoint::kSpeech, "tts", "/audio/speech", Dialect::kPlain, BodyForm::kJson},
    {Endpoint::kTranscriptions, "stt", "/audio/transcriptions", Dialect::kPlain,
     BodyForm::kMultipart},
    {Endpoint::kTranslations, "stt", "/audio/translations", Dialect::kPlain, BodyForm::kMultipart},
    {Endpoint::kPassthrough, "passthrough", "", Dialect::kPlain, BodyForm::kAny},
}};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kEndpoints.size(); ++i) {
    if (kEndpoints[i].endpoint != static_cast<Endpoint>(i)) return false;
  }
  return kEndpoints.back().endpoint == Endpoint::kPassthrough;
}
static_assert(InOrder(), "a row per endpoint, in the order of the enum");

}  // namespace

std::span<const EndpointRow> Endpoints() noexcept { return kEndpoints; }

const EndpointRow& RowOf(Endpoint endpoint) noexcept {
  return kEndpoints[static_cast<std::size_t>(endpoint)];
}

const EndpointRow* FindEndpoint(std::string_view path) noexcept {
  if (!base::StartsWith(path, kVersionPrefix)) return nullptr;
  path.remove_prefix(kVersionPrefix.size());
  const auto row = std::find_if(kEndpoints.begin(), kEndpoints.end(), [&](const EndpointRow& r) {
    return !r.path.empty() && r.path == path;
  });
  return row == kEndpoints.end() ? nullptr : &*row;
}

bool Speaks(std::string_view provider_type, Endpoint endpoint) noexcept {
  const ProviderType* type = FindProviderType(provider_type);
  switch (DialectOf(endpoint)) {
    case Dialect::kChat:
      return type == nullptr || type->chat;
    case Dialect::kMessages:
      return type != nullptr && type->messages;
    case Dialect::kResponses:
      return type == nullptr || type->responses;
    case Dialect::kPlain:
      // Those who speak Messages have none of the other endpoints.
      return endpoint == Endpoint::kPassthrough || type == nullptr || !type->messages;
  }
  return true;
}

}  // namespace hotel::wire

namespace hotel {

const char* EndpointName(Endpoint endpoint) noexcept { return wire::RowOf(endpoint).name.data(); }

}  // namespace hotel
