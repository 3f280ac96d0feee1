#include "libhotel/wire/upstream.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "libhotel/base/provider_types.h"
#include "libhotel/base/strings.h"

namespace hotel::wire {
namespace {

constexpr std::array<ProviderType, base::kProviderTypeNames.size()> kProviderTypes = {{
    {"openai", AuthStyle::kBearer, false, false},
    {"anthropic", AuthStyle::kXApiKey, true, false},
    {"anthropic-messages", AuthStyle::kXApiKey, true, false},
    {"azure", AuthStyle::kBearer, false, false},
    {"bedrock", AuthStyle::kBearer, false, false},
    {"cohere", AuthStyle::kBearer, false, false},
    {"custom", AuthStyle::kBearer, false, true},
    {"deepseek", AuthStyle::kBearer, false, false},
    {"google", AuthStyle::kBearer, false, false},
    {"kimi-code", AuthStyle::kBearer, false, false},
    {"koboldcpp", AuthStyle::kBearer, true, true},
    {"lmstudio", AuthStyle::kBearer, true, true},
    {"minimax", AuthStyle::kBearer, false, false},
    {"nanogpt", AuthStyle::kBearer, false, false},
    {"neuralwatt", AuthStyle::kBearer, false, false},
    {"ollama", AuthStyle::kBearer, true, true},
    {"ollama-cloud", AuthStyle::kBearer, false, false},
    {"opencode-go", AuthStyle::kBearer, false, false},
    {"opencode-zen", AuthStyle::kBearer, false, false},
    {"openrouter", AuthStyle::kBearer, false, false},
    {"vertex-express", AuthStyle::kGoogApiKey, true, false},
    {"vllm", AuthStyle::kBearer, true, true},
    {"xai", AuthStyle::kBearer, false, false},
    {"zai-coding", AuthStyle::kBearer, false, false},
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

std::string_view EndpointPath(Endpoint endpoint) noexcept {
  switch (endpoint) {
    case Endpoint::kChatCompletions:
      return "/chat/completions";
  }
  return "";
}

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

// Visible characters, spaces inside, and bytes above ASCII, which are some provider's business.
bool IsHeaderValue(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  });
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
  } else if (url.path.empty() || (type != nullptr && type->inserts_v1 && !HasVersion(url.path))) {
    url.path.append("/v1");
  }
  return url.origin + url.path + std::string(EndpointPath(endpoint)) + url.query;
}

absl::StatusOr<HeaderList> UpstreamHeaders(const Provider& provider, bool streaming) {
  HeaderList headers = {
      {"content-type", "application/json"},
      {"accept", streaming ? "text/event-stream" : "application/json"},
      {"user-agent", std::string(kUserAgent)},
  };
  const ProviderType* type = FindProviderType(provider.type);
  const AuthStyle auth = type != nullptr ? type->auth : AuthStyle::kBearer;
  if (auth == AuthStyle::kXApiKey) {
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
  switch (auth) {
    case AuthStyle::kBearer:
      headers.push_back({"authorization", "Bearer " + std::string(key)});
      break;
    case AuthStyle::kXApiKey:
      headers.push_back({"x-api-key", std::string(key)});
      break;
    case AuthStyle::kGoogApiKey:
      headers.push_back({"x-goog-api-key", std::string(key)});
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
