#include "libhotel/base/redact.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "libhotel/base/strings.h"

namespace hotel::base {
namespace {

constexpr std::size_t kMinSecret = 4;

// Prefixes of the keys that providers hand out. `min_tail` characters must follow, so that words
// like "sk-learn" in a sentence stay.
struct KeyPrefix {
  std::string_view prefix;
  std::size_t min_tail;
};
constexpr std::array<KeyPrefix, 10> kKeyPrefixes = {{
    {"sk-", 8},
    {"sk_", 8},
    {"gsk_", 8},
    {"pk-", 16},
    {"xai-", 8},
    {"AIza", 16},
    {"nvapi-", 8},
    {"hf_", 16},
    {"eyJ", 24},  // a JSON web token
    {"AKIA", 12},
}};

// Authorization schemes; shorter words behind them are prose ("a basic question").
constexpr std::array<KeyPrefix, 2> kSchemes = {{{"bearer", 6}, {"basic", 12}}};

bool IsKeyChar(char c) noexcept {
  return IsAsciiAlnum(c) || c == '-' || c == '_' || c == '.' || c == '+' || c == '/' || c == '=' ||
         c == '*' || c == '~' || c == '%';
}

std::size_t KeyRun(std::string_view text) noexcept {
  std::size_t length = 0;
  while (length < text.size() && IsKeyChar(text[length])) ++length;
  return length;
}

// Length of a key-shaped word at the start of `text`; 0 = there is none.
std::size_t KeyLength(std::string_view text) noexcept {
  for (const KeyPrefix& known : kKeyPrefixes) {
    if (!StartsWith(text, known.prefix)) continue;
    const std::size_t run = KeyRun(text);
    if (run >= known.prefix.size() + known.min_tail) return run;
  }
  return 0;
}

// When `text` starts with an authorization scheme and a credential: where the credential starts.
std::size_t SchemeLength(std::string_view text) noexcept {
  for (const KeyPrefix& scheme : kSchemes) {
    if (!EqualsIgnoreCase(text.substr(0, scheme.prefix.size()), scheme.prefix)) continue;
    std::size_t at = scheme.prefix.size();
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (at > scheme.prefix.size() && KeyRun(text.substr(at)) >= scheme.min_tail) return at;
  }
  return 0;
}

struct KeyPlace {
  std::size_t begin;
  std::size_t length;
};

// The first credential from `at` on; at the end, of no length, when there is none.
KeyPlace FindKey(std::string_view text, std::size_t at) noexcept {
  for (; at < text.size(); ++at) {
    // Keys begin at the start of a word.
    if (at != 0 && IsAsciiAlnum(text[at - 1])) continue;
    const std::string_view rest = text.substr(at);
    if (const std::size_t scheme = SchemeLength(rest); scheme > 0) {
      return {at + scheme, KeyRun(rest.substr(scheme))};
    }
    if (const std::size_t key = KeyLength(rest); key > 0) return {at, key};
  }
  return {text.size(), 0};
}

std::string JsonEscaped(std::string_view text, bool escape_slash) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\' || (c == '/' && escape_slash)) {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string PercentEncoded(std::string_view text, bool upper) {
  std::string result;
  for (const char c : text) {
    if (IsAsciiAlnum(c) || c == '-' || c == '_' || c == '.' || c == '~') {
      result += c;
    } else {
      const auto byte = static_cast<unsigned>(static_cast<unsigned char>(c));
      result += upper ? fmt::format("%{:02X}", byte) : fmt::format("%{:02x}", byte);
    }
  }
  return result;
}

// Whether `text` starts with `digits` hexadecimal digits that make `c`.
bool IsHexOf(std::string_view text, std::size_t digits, char c) noexcept {
  return text.size() >= digits &&
         HexNumber(text.substr(0, digits)) == static_cast<unsigned char>(c);
}

// Length of `c` at the start of `text`, as itself, percent-encoded or as a JSON escape, also inside
// a JSON text that is itself a string (`\\u002b`); 0 = it is something else.
std::size_t SpeltLength(std::string_view text, char c) noexcept {
  if (text.empty()) return 0;
  if (text[0] == c && c != '\\') return 1;
  if (text[0] == '%') return IsHexOf(text.substr(1), 2, c) ? 3 : 0;
  constexpr std::size_t kDeepest = 8;  // a string in a string in a string
  std::size_t slashes = 0;
  while (slashes < text.size() && slashes < kDeepest && text[slashes] == '\\') ++slashes;
  if (slashes == 0) return 0;
  if (c == '\\') return slashes > 1 ? 2 : 1;
  const std::string_view rest = text.substr(slashes);
  if (rest.empty()) return 0;
  if (rest[0] == 'u' && IsHexOf(rest.substr(1), 4, c)) return slashes + 5;
  return rest[0] == c ? slashes + 1 : 0;
}

// Length of `secret` at the start of `text`, however each of its characters is spelt; 0 = it is not
// there.
std::size_t SecretLength(std::string_view text, std::string_view secret) noexcept {
  std::size_t at = 0;
  for (const char c : secret) {
    const std::size_t length = SpeltLength(text.substr(at), c);
    if (length == 0) return 0;
    at += length;
  }
  return at;
}

std::string MaskSecret(std::string_view text, std::string_view secret) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t length = SecretLength(text.substr(at), secret); length > 0) {
      result.append(kRedacted);
      at += length;
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::string ReplaceAll(std::string_view text, std::string_view what) {
  std::string result;
  for (;;) {
    const std::size_t at = text.find(what);
    if (at == std::string_view::npos) break;
    result.append(text.substr(0, at)).append(kRedacted);
    text.remove_prefix(at + what.size());
  }
  return result.append(text);
}

}  // namespace

std::string RedactKeys(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const KeyPlace key = FindKey(text, at);
    result.append(text.substr(at, key.begin - at));
    if (key.length > 0) result.append(kRedacted);
    at = key.begin + key.length;
  }
  return result;
}

bool HoldsKey(std::string_view text) noexcept { return FindKey(text, 0).length > 0; }

std::vector<std::string> SecretSpellings(std::string_view secret) {
  std::vector<std::string> spellings = {std::string(secret), JsonEscaped(secret, false),
                                        JsonEscaped(secret, true), PercentEncoded(secret, true),
                                        PercentEncoded(secret, false)};
  std::sort(spellings.begin(), spellings.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  spellings.erase(std::unique(spellings.begin(), spellings.end()), spellings.end());
  return spellings;
}

std::string Redact(std::string_view text, std::string_view secret) {
  std::string result(text);
  if (secret.size() >= kMinSecret) {
    for (const std::string& spelling : SecretSpellings(secret)) {
      result = ReplaceAll(result, spelling);
    }
    // Some servers escape more than JSON asks for, or everything.
    result = MaskSecret(result, secret);
  }
  return RedactKeys(result);
}

}  // namespace hotel::base
