// Takes credentials out of text before it is logged or shown. Over-masking is fine, leaking is not.
#ifndef HOTEL_BASE_REDACT_H_
#define HOTEL_BASE_REDACT_H_

#include <string>
#include <string_view>
#include <vector>

namespace hotel::base {

/// What stands where a credential was.
inline constexpr std::string_view kRedacted = "[REDACTED]";

/// A copy of `text` without key-shaped words: those that begin with a known key prefix (`sk-`,
/// `gsk_`, `AIza`, `xai-`, ...), and whatever follows `Bearer ` or `Basic `. Linear in the text.
std::string RedactKeys(std::string_view text);

/// Whether RedactKeys would change it. Allocates nothing.
bool HoldsKey(std::string_view text) noexcept;

/// RedactKeys, and every occurrence of `secret` in plain, JSON-escaped or percent-encoded spelling.
/// A secret under 4 bytes is not searched for: it would match by chance all over.
std::string Redact(std::string_view text, std::string_view secret);

/// How `secret` may be spelled in an answer: plain, JSON-escaped (with `/` bare and as `\/`),
/// percent-encoded (upper and lower case digits); each once, longest first.
std::vector<std::string> SecretSpellings(std::string_view secret);

}  // namespace hotel::base

#endif  // HOTEL_BASE_REDACT_H_
