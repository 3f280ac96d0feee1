#include "libhotel/wire/upstream.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "libhotel/base/provider_types.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/endpoints.h"

namespace hotel::wire {
namespace {

// What a type speaks is what its own servers answer to; other dialects are not translated.
constexpr std::array<ProviderType, base::kProviderTypeNames.size()> kProviderTypes = {{
    // name, credential, inserts /v1, key optional, chat, messages, responses, include_usage
    {"openai", AuthStyle::kBearer, false, false, true, false, true, true},
    {"anthropic", AuthStyle::kXApiKey, true, false, true, true, false, false},
    {"anthropic-messages", AuthStyle::kXApiKey, true, false, false, true, false, false},
    {"azure", AuthStyle::kBearer, false, false, true, false, true, true},
    {"bedrock", AuthStyle::kBearer, false, false, true, false, true, true},
    {"cohere", AuthStyle::kBearer, false, false, true, false, false, false},
    {"custom", AuthStyle::kBearer, false, true, true, false, true, true},
    {"deepseek", AuthStyle::kBearer, false, false, true, false, false, true},
    {"google", AuthStyle::kBearer, false, false, true, false, false, false},
    {"kimi-code", AuthStyle::kBearer, false, false, true, false, false, true},
    {"koboldcpp", AuthStyle::kBearer, true, true, true, false, false, true},
    {"lmstudio", AuthStyle::kBearer, true, true, true, false, true, true},
    {"minimax", AuthStyle::kBearer, false, false, true, false, false, true},
    {"nanogpt", AuthStyle::kBearer, false, false, true, false, false, true},
    {"neuralwatt", AuthStyle::kBearer, false, false, true, false, false, true},
    {"ollama", AuthStyle::kBearer, true, true, true, false, true, true},
    {"ollama-cloud", AuthStyle::kBearer, false, false, true, false, false, true},
    {"opencode-go", AuthStyle::kBearer, false, false, true, false, false, false},
    {"opencode-zen", AuthStyle::kBearer, false, false, true, false, false, false},
    {"openrouter", AuthStyle::kBearer, false, false, true, false, true, true},
    {"vertex-express", AuthStyle::kGoogApiKey, true, false, true, false, false, true},
    {"vllm", AuthStyle::kBearer, true, true, true, false, true, true},
    {"xai", AuthStyle::kBearer, false, false, true, false, true, true},
    {"zai-coding", AuthStyle::kBearer, false, false, true, false, false, true},
}};

// The names are known to settings too, which stands below wire and has its own list of them.
constexpr bool SameNames() {
  for (std::size_t i = 0; i < kProviderTypes.size(); ++i) {
    if (kProviderTypes[i].name != base::kProviderTypeNames[i]) return false;
  }
  return true;
}
static_assert(SameNames(), "the table of provider types has a row per name, in the same order");

constexpr std::string_view kAnthropicVersion = "2023-06-01";
constexpr std::string_view kUserAgent = "hotel";

// Scheme and host of a base URL, its path (no slash at the end, none doubled) and its query with
// the question mark. A fragment never goes to a server.
struct BaseUrl {
  std::string origin;
  std::string path;
  std::string query;
};

BaseUrl SplitBaseUrl(std::string_view url) {
  url = base::Trim(url);
  url = url.substr(0, url.find('#'));
  BaseUrl parts;
  if (const std::size_t query = url.find('?'); query != std::string_view::npos) {
    if (query + 1 < url.size()) parts.query = url.substr(query);
    url = url.substr(0, query);
  }
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t path = std::min(url.find('/', host), url.size());
  parts.origin = url.substr(0, path);
  for (const std::string_view segment : base::Split(url.substr(path), '/')) {
    if (!segment.empty()) parts.path.append("/").append(segment);
  }
  return parts;
}

// "v1", "v4", "v1beta": the base URL already says which version of the API it means.
bool IsVersion(std::string_view segment) noexcept {
  return segment.size() >= 2 && segment[0] == 'v' && base::IsAsciiDigit(segment[1]) &&
         std::all_of(segment.begin(), segment.end(), base::IsAsciiAlnum);
}

bool HasVersion(std::string_view path) {
  const std::vector<std::string_view> segments = base::Split(path, '/');
  return std::any_of(segments.begin(), segments.end(), IsVersion);
}

bool EndsWith(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Without its last segment when that is a version.
void DropVersion(std::string* path) {
  const std::size_t slash = path->rfind('/');
  if (slash != std::string::npos && IsVersion(std::string_view(*path).substr(slash + 1))) {
    path->resize(slash);
  }
}

// Neither rerank nor the list of models is part of Cohere's compatibility API: they live beside it,
// under versions of their own.
void ToCohereNative(std::string* path, std::string_view version) {
  constexpr std::string_view kCompatibility = "/compatibility";
  DropVersion(path);
  if (EndsWith(*path, kCompatibility)) path->resize(path->size() - kCompatibility.size());
  path->append(version);
}

// A NanoGPT subscription covers no images: they are bought at the address beside it.
void DropSubscription(std::string* path) {
  constexpr std::string_view kSubscription = "/subscription";
  for (std::size_t at = path->find(kSubscription); at != std::string::npos;
       at = path->find(kSubscription, at + 1)) {
    const std::size_t end = at + kSubscription.size();
    if (end != path->size() && (*path)[end] != '/') continue;
    path->erase(at, kSubscription.size());
    return;
  }
}

bool IsImage(Endpoint endpoint) noexcept {
  return endpoint == Endpoint::kImageGenerations || endpoint == Endpoint::kImageEdits ||
         endpoint == Endpoint::kImageVariations;
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (base::IsAsciiAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += c;
    } else {
      encoded.append("%").append(1, kHex[byte >> 4]).append(1, kHex[byte & 0xF]);
    }
  }
  return encoded;
}

// Visible characters, spaces inside, and bytes above ASCII, which are some provider's business.
bool IsHeaderValue(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  });
}

AuthStyle AuthOf(const Provider& provider) noexcept {
  const ProviderType* type = FindProviderType(provider.type);
  return type != nullptr ? type->auth : AuthStyle::kBearer;
}

std::string_view AcceptValue(Accept accept) noexcept {
  switch (accept) {
    case Accept::kJson:
      return "application/json";
    case Accept::kEventStream:
      return "text/event-stream";
    case Accept::kAnything:
      break;
  }
  return "*/*";
}

}  // namespace

const ProviderType* FindProviderType(std::string_view name) noexcept {
  for (const ProviderType& type : kProviderTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

std::vector<std::string_view> ProviderTypeNames() {
  return {base::kProviderTypeNames.begin(), base::kProviderTypeNames.end()};
}

std::string UpstreamUrl(const Provider& provider, Endpoint endpoint) {
  BaseUrl url = SplitBaseUrl(provider.base_url);
  const ProviderType* type = FindProviderType(provider.type);
  if (provider.type == "azure") {
    url.path = "/openai/v1";
  } else if (provider.type == "cohere" && endpoint == Endpoint::kRerank) {
    ToCohereNative(&url.path, "/v2");
  } else if (url.path.empty() || (type != nullptr && type->inserts_v1 && !HasVersion(url.path))) {
    url.path.append("/v1");
  }
  if (provider.type == "nanogpt" && IsImage(endpoint)) DropSubscription(&url.path);
  return url.origin + url.path + std::string(RowOf(endpoint).path) + url.query;
}

std::string ModelsUrl(const Provider& provider, std::string_view after) {
  BaseUrl url = SplitBaseUrl(provider.base_url);
  const ProviderType* type = FindProviderType(provider.type);
  if (provider.type == "azure") {
    url.path = "/openai/v1";
  } else if (provider.type == "cohere") {
    ToCohereNative(&url.path, "/v1");
  } else if (url.path.empty() || (type != nullptr && type->inserts_v1 && !HasVersion(url.path))) {
    url.path.append("/v1");
  }
  std::string result = url.origin + url.path + "/models" + url.query;
  if (type == nullptr || type->auth != AuthStyle::kXApiKey) return result;
  result.append(url.query.empty() ? "?" : "&").append("limit=1000");
  if (!after.empty()) result.append("&after_id=").append(PercentEncode(after));
  return result;
}

std::string PassthroughUrl(const Provider& provider, std::string_view target) {
  const BaseUrl url = SplitBaseUrl(provider.base_url);
  const std::size_t mark = target.find('?');
  std::string result = url.origin + url.path;
  result.append(target.substr(0, mark)).append(url.query);
  if (mark != std::string_view::npos) {
    result.append(url.query.empty() ? "?" : "&").append(target.substr(mark + 1));
  }
  return result;
}

absl::StatusOr<HeaderList> UpstreamHeaders(const Provider& provider, std::string_view content_type,
                                           Accept accept) {
  if (!IsHeaderValue(content_type)) {
    return absl::InvalidArgumentError(
        "the content type holds a character that cannot stand in a header");
  }
  HeaderList headers = {
      {"content-type", std::string(content_type)},
      {"accept", std::string(AcceptValue(accept))},
  };
  auto own = CredentialHeaders(provider);
  if (!own.ok()) return own.status();
  for (Header& header : *own) headers.push_back(std::move(header));
  return headers;
}

absl::StatusOr<HeaderList> CredentialHeaders(const Provider& provider) {
  HeaderList headers = {{"user-agent", std::string(kUserAgent)}};
  if (AuthOf(provider) == AuthStyle::kXApiKey) {
    headers.push_back({"anthropic-version", std::string(kAnthropicVersion)});
  }
  if (provider.key_state == KeyState::kKeyless) return headers;
  const std::string_view key = provider.api_key.Reveal();
  if (provider.key_state == KeyState::kUndecryptable || key.empty()) {
    return absl::InvalidArgumentError("the key of provider \"" + provider.name +
                                      "\" is not at hand");
  }
  if (!IsHeaderValue(key)) {
    return absl::InvalidArgumentError("the key of provider \"" + provider.name +
                                      "\" holds a character that cannot stand in a header");
  }
  switch (AuthOf(provider)) {
    case AuthStyle::kXApiKey:
      headers.push_back({"x-api-key", std::string(key)});
      break;
    case AuthStyle::kGoogApiKey:
      headers.push_back({"x-goog-api-key", std::string(key)});
      break;
    case AuthStyle::kBearer:
      headers.push_back({"authorization", "Bearer " + std::string(key)});
      break;
  }
  return headers;
}

std::string_view UsableIdempotencyKey(std::string_view value) noexcept {
  constexpr std::size_t kMaxLength = 255;
  const std::string_view key = base::Trim(value);
  if (key.size() > kMaxLength) return {};
  for (const char c : key) {
    if (c <= 0x20 || c >= 0x7f) return {};
  }
  return key;
}

}  // namespace hotel::wire
