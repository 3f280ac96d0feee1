#include "libhotel/wire/hidden_error.h"

#include <array>
#include <charconv>

#include "libhotel/base/strings.h"
#include "libhotel/wire/error_value.h"
#include "libhotel/wire/json.h"
#include "libhotel/wire/payload.h"

namespace hotel::wire {
namespace {

constexpr std::string_view kUninformative = "provider returned";

struct Body {
  bool has_error = false;  // `error`, not null
  bool error_is_object = false;
  bool answer_member = false;  // R24
  int code = 0;                // error.code
  int outer_code = 0;
  std::string_view message;  // raw JSON strings from here on
  std::string_view raw;
  std::string_view outer_message;
  std::string_view outer_type;
};

bool ReadMetadata(JsonCursor& cursor, Body* body) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  return cursor.Object([&](std::string_view key) {
    return JsonTextIs(key, "raw") ? TakeString(cursor, &body->raw) : cursor.Skip();
  });
}

bool ReadError(JsonCursor& cursor, Body* body) {
  const JsonKind kind = cursor.Peek();
  if (kind == JsonKind::kNull) return cursor.Skip();
  body->has_error = true;
  if (kind == JsonKind::kString) return cursor.String(&body->message);
  if (kind != JsonKind::kObject) return cursor.Skip();
  body->error_is_object = true;
  return cursor.Object([&](std::string_view key) {
    if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &body->code);
    if (JsonTextIs(key, "message")) return TakeString(cursor, &body->message);
    if (JsonTextIs(key, "metadata")) return ReadMetadata(cursor, body);
    return cursor.Skip();
  });
}

bool ReadTop(JsonCursor& cursor, Body* body) {
  return cursor.Object([&](std::string_view key) {
    if (IsAnswerMember(key)) body->answer_member = true;
    if (JsonTextIs(key, "error")) return ReadError(cursor, body);
    if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &body->outer_code);
    if (JsonTextIs(key, "message")) return TakeString(cursor, &body->outer_message);
    if (JsonTextIs(key, "error_type")) return TakeString(cursor, &body->outer_type);
    return cursor.Skip();
  });
}

std::string Plain(std::string_view raw) {
  std::string text;
  JsonUnescape(raw, &text);
  return text;
}

std::string Message(const Body& body) {
  std::string message = Plain(body.message);
  const std::string_view trimmed = base::Trim(message);
  const bool says_nothing =
      trimmed.empty() ||
      base::EqualsIgnoreCase(trimmed.substr(0, kUninformative.size()), kUninformative);
  if (says_nothing && !body.raw.empty()) return Plain(body.raw);
  if (!trimmed.empty()) return message;
  return Plain(!body.outer_message.empty() ? body.outer_message : body.outer_type);
}

std::optional<HiddenError> Judge(const Body& body) {
  if (!body.has_error || body.answer_member) return std::nullopt;
  const int code = body.error_is_object ? body.code : body.outer_code;
  return HiddenError{code != 0 ? code : 502, Message(body)};
}

// Where the object that begins at the front of `text` ends: behind its last brace, or npos.
std::size_t ObjectEnd(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<HiddenError> ReadHiddenError(std::string_view text) {
  JsonCursor cursor(TrimPayload(text));
  Body body;
  if (!ReadTop(cursor, &body) || !cursor.AtEnd()) return std::nullopt;
  return Judge(body);
}

HiddenStart ReadHiddenStart(std::string_view received, bool ended) {
  using Kind = HiddenStart::Kind;
  const bool full = received.size() >= kHiddenStartLimit;
  const std::string_view text = TrimPayload(received.substr(0, kHiddenStartLimit));
  if (text.empty()) return {full || ended ? Kind::kAnswer : Kind::kUndecided, {}};
  if (text.front() != '{') return {Kind::kAnswer, {}};
  const std::size_t end = ObjectEnd(text);
  if (end == std::string_view::npos) {
    return {full || ended ? Kind::kAnswer : Kind::kUndecided, {}};
  }
  // TrimPayload left no white space at the end: any byte behind the object is something.
  if (end < text.size()) return {Kind::kAnswer, {}};
  std::optional<HiddenError> error = ReadHiddenError(text);
  if (!error) return {Kind::kAnswer, {}};
  return {Kind::kError, *std::move(error)};
}

std::optional<HiddenError> ReadMinimaxEnvelope(std::string_view text) {
  if (text.size() > kMaxMinimaxEnvelope) return std::nullopt;
  JsonCursor cursor(TrimPayload(text));
  std::string_view code_token;
  std::string_view message;
  const auto read_base = [&](std::string_view key) {
    if (JsonTextIs(key, "status_msg")) return TakeString(cursor, &message);
    if (!JsonTextIs(key, "status_code")) return cursor.Skip();
    const JsonKind kind = cursor.Peek();
    if (kind == JsonKind::kNumber) return cursor.Number(&code_token);
    return kind == JsonKind::kString ? cursor.String(&code_token) : cursor.Skip();
  };
  const bool read = cursor.Object([&](std::string_view key) {
    if (!JsonTextIs(key, "base_resp") || cursor.Peek() != JsonKind::kObject) return cursor.Skip();
    return cursor.Object(read_base);
  });
  if (!read || !cursor.AtEnd()) return std::nullopt;
  long code = 0;
  const char* const end = code_token.data() + code_token.size();
  const auto [stop, fault] = std::from_chars(code_token.data(), end, code);
  if (fault != std::errc() || stop != end || code == 0) return std::nullopt;
  const bool refused = code == 1002 || code == 1008 || code == 1039;
  return HiddenError{refused ? 429 : code == 1004 ? 401 : 502, Plain(message)};
}

}  // namespace hotel::wire
