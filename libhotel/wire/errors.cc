#include "libhotel/wire/errors.h"

#include <simdjson.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/chat_parts.h"
#include "libhotel/wire/error_value.h"
#include "libhotel/wire/json.h"

namespace hotel::wire {
namespace {

constexpr std::size_t kMaxRelayed = std::size_t{1} << 20;
constexpr std::size_t kMaxEnvelopeText = 10'000;
constexpr std::size_t kUuidLength = 36;

std::string ErrorObject(std::string_view type, std::string_view code, std::string_view message) {
  std::string out = "{\"error\":{\"message\":";
  out.append(JsonString(message)).append(",\"type\":").append(JsonString(type));
  out.append(",\"code\":").append(JsonString(code)).append("}}");
  return out;
}

// A JSON object whose `error` member says something.
bool IsErrorBody(std::string_view body) {
  JsonCursor cursor(TrimPayload(body));
  ErrorValue error;
  const bool read = cursor.Object([&](std::string_view key) {
    return JsonTextIs(key, "error") ? ReadErrorValue(cursor, &error) : cursor.Skip();
  });
  return read && cursor.AtEnd() && error.carries;
}

// Masks inside valid JSON. An escape can hide a credential from a search in the raw bytes (a letter
// spelt \u0073, the n of a \n glued to the front of a key), so strings with escapes are searched in
// their plain form and rewritten only when something was found.
std::string MaskJson(std::string_view json, std::string_view secret) {
  std::string out;
  out.reserve(json.size());
  std::size_t copied = 0;
  std::string plain;
  for (std::size_t quote = json.find('"'); quote != std::string_view::npos;
       quote = json.find('"', quote)) {
    JsonCursor cursor(json.substr(quote));
    std::string_view raw;
    if (!cursor.String(&raw)) break;
    const std::size_t end = quote + cursor.offset();
    if (raw.find('\\') != std::string_view::npos) {
      JsonUnescape(raw, &plain);
      const std::string masked = base::Redact(plain, secret);
      if (masked != plain) {
        out.append(json.substr(copied, quote - copied)).append(JsonString(masked));
        copied = end;
      }
    }
    quote = end;
  }
  out.append(json.substr(copied));
  return base::Redact(out, secret);
}

// Without control characters (line ends and tabs become spaces) and bytes that are not UTF-8.
std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t pos = 0; pos < text.size();) {
    const auto lead = static_cast<unsigned char>(text[pos]);
    if (lead < 0x80) {
      if (base::IsAsciiSpace(text[pos])) {
        out.push_back(' ');
      } else if (lead >= 0x20 && lead != 0x7F) {
        out.push_back(text[pos]);
      }
      ++pos;
      continue;
    }
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const std::string_view sequence = text.substr(pos, length);
    if (sequence.size() < length || !simdjson::validate_utf8(sequence)) {
      ++pos;
      continue;
    }
    const bool c1_control = lead == 0xC2 && static_cast<unsigned char>(text[pos + 1]) < 0xA0;
    if (!c1_control) out.append(sequence);
    pos += length;
  }
  return out;
}

std::string WithoutUuids(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t pos = 0; pos < text.size();) {
    // The hyphen is looked at first: it rules out nearly every position.
    if (pos + 8 < text.size() && text[pos + 8] == '-' &&
        base::IsUuid(text.substr(pos, kUuidLength))) {
      out.append(base::kRedacted);
      pos += kUuidLength;
    } else {
      out.push_back(text[pos++]);
    }
  }
  return out;
}

}  // namespace

std::string_view OpenAiErrorType(int status) noexcept {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string OpenAiError(int status, std::string_view code, std::string_view message) {
  return ErrorObject(OpenAiErrorType(status), code, message);
}

std::string ChatStreamError(std::string_view code, std::string_view message) {
  return "data: " + ErrorObject("server_error", code, message) + "\n\n";
}

std::string RelayProviderError(int status, std::string_view body, std::string_view secret) {
  if (body.size() <= kMaxRelayed && IsErrorBody(body)) {
    std::string masked = MaskJson(body, secret);
    // A credential that looked like a piece of JSON may have taken the form with it.
    if (masked == body || IsErrorBody(masked)) return masked;
  }
  std::string text = SanitizeDetail(body, secret, kMaxEnvelopeText);
  if (base::Trim(text).empty()) text = "the provider rejected the request payload";
  return OpenAiError(status, "provider_bad_request", text);
}

std::string SanitizeDetail(std::string_view text, std::string_view secret, std::size_t limit) {
  // Masked before it is cut: half a credential is not recognised any more.
  const std::string clean = WithoutUuids(base::Redact(Printable(text), secret));
  return std::string(base::TruncateUtf8(clean, limit));
}

}  // namespace hotel::wire
