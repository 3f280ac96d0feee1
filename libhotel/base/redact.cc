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
  std::size_t at = 0;
  while (at < text.size()) {
    // Keys begin at the start of a word.
    if (at == 0 || !IsAsciiAlnum(text[at - 1])) {
      const std::string_view rest = text.substr(at);
      if (const std::size_t scheme = SchemeLength(rest); scheme > 0) {
        result.append(rest.substr(0, scheme)).append(kRedacted);
        at += scheme + KeyRun(rest.substr(scheme));
        continue;
      }
      if (const std::size_t key = KeyLength(rest); key > 0) {
        result.append(kRedacted);
        at += key;
        continue;
      }
    }
    result += text[at++];
  }
  return result;
}

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
  }
  return RedactKeys(result);
}

}  // namespace hotel::base
