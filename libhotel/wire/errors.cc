#include "libhotel/wire/errors.h"

#include <simdjson.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/error_value.h"
#include "libhotel/wire/json.h"
#include "libhotel/wire/payload.h"

namespace hotel::wire {
namespace {

constexpr std::size_t kMaxRelayed = std::size_t{1} << 20;
constexpr std::size_t kMaxEnvelopeText = 10'000;
constexpr std::size_t kUuidLength = 36;

std::string Member(std::string_view name, std::string_view text) {
  std::string out = JsonString(name);
  out.append(":").append(JsonString(text));
  return out;
}

std::string ErrorObject(Dialect dialect, std::string_view type, std::string_view code,
                        std::string_view message) {
  std::string out;
  if (dialect == Dialect::kMessages) {
    out.append(R"({"type":"error","error":{)").append(Member("type", type)).append(",");
    out.append(Member("message", message));
  } else {
    out.append(R"({"error":{)").append(Member("message", message)).append(",");
    out.append(Member("type", type));
  }
  out.append(",").append(Member("code", code)).append("}}");
  return out;
}

// A provider's body that says what was wrong.
struct ProviderError {
  bool openai = false;       // a JSON object whose `error` member says something
  bool anthropic = false;    // ... and is that of the messages dialect
  std::string_view message;  // raw JSON string, "" when there is none
};

bool ReadErrorObject(JsonCursor& cursor, ProviderError* error) {
  return cursor.Object([&](std::string_view key) {
    return JsonTextIs(key, "message") ? TakeString(cursor, &error->message) : cursor.Skip();
  });
}

ProviderError ReadProviderError(std::string_view body) {
  const std::string_view text = TrimPayload(body);
  JsonCursor cursor(text);
  ProviderError result;
  ErrorValue value;
  std::string_view type;
  bool object = false;
  const bool read = cursor.Object([&](std::string_view key) {
    if (JsonTextIs(key, "type")) return TakeString(cursor, &type);
    if (!JsonTextIs(key, "error")) return cursor.Skip();
    object = cursor.Peek() == JsonKind::kObject;
    const std::size_t start = cursor.offset();
    if (!ReadErrorValue(cursor, &value)) return false;
    JsonCursor inner(text.substr(start, cursor.offset() - start));
    return object ? ReadErrorObject(inner, &result) : TakeString(inner, &result.message);
  });
  result.openai = read && cursor.AtEnd() && value.carries;
  result.anthropic = result.openai && object && JsonTextIs(type, "error");
  return result;
}

bool CanRelay(Dialect dialect, const ProviderError& error) noexcept {
  return dialect == Dialect::kMessages ? error.anthropic : error.openai;
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

std::string_view AnthropicErrorType(int status) noexcept {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string ErrorBodyOfType(Dialect dialect, std::string_view type, std::string_view code,
                            std::string_view message) {
  return ErrorObject(dialect, type, code, message);
}

std::string ErrorBody(Dialect dialect, int status, std::string_view code,
                      std::string_view message) {
  const std::string_view type =
      dialect == Dialect::kMessages ? AnthropicErrorType(status) : OpenAiErrorType(status);
  return ErrorObject(dialect, type, code, message);
}

std::string StreamError(Dialect dialect, std::string_view code, std::string_view message) {
  std::string out;
  switch (dialect) {
    case Dialect::kChat:
      out = "data: " + ErrorObject(dialect, "server_error", code, message);
      break;
    case Dialect::kMessages:
      out = "event: error\ndata: " + ErrorObject(dialect, "api_error", code, message);
      break;
    case Dialect::kResponses:
      out = "event: error\ndata: {\"type\":\"error\"," + Member("code", code) + "," +
            Member("message", message) + ",\"param\":null}";
      break;
    case Dialect::kPlain:
      return out;
  }
  return out + "\n\n";
}

std::string RelayProviderError(Dialect dialect, int status, std::string_view body,
                               std::string_view secret) {
  std::string text;
  if (body.size() <= kMaxRelayed) {
    const ProviderError error = ReadProviderError(body);
    if (CanRelay(dialect, error)) {
      std::string masked = MaskJson(body, secret);
      // A credential that looked like a piece of JSON may have taken the form with it.
      if (masked == body || CanRelay(dialect, ReadProviderError(masked))) return masked;
    } else if (error.openai && !error.message.empty()) {
      // An error of another dialect: its words, in the client's form.
      std::string message;
      JsonUnescape(error.message, &message);
      text = SanitizeDetail(message, secret, kMaxEnvelopeText);
    }
  }
  if (base::Trim(text).empty()) text = SanitizeDetail(body, secret, kMaxEnvelopeText);
  if (base::Trim(text).empty()) text = "the provider rejected the request payload";
  return ErrorBody(dialect, status, "provider_bad_request", text);
}

std::string SanitizeDetail(std::string_view text, std::string_view secret, std::size_t limit) {
  // Masked before it is cut: half a credential is not recognised any more.
  const std::string clean = WithoutUuids(base::Redact(Printable(text), secret));
  return std::string(base::TruncateUtf8(clean, limit));
}

}  // namespace hotel::wire
