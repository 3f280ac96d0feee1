#include "libhotel/wire/request.h"

#include <cassert>
#include <optional>
#include <utility>

#include <simdjson.h>

#include "absl/status/status.h"
#include "libhotel/wire/json.h"

namespace hotel::wire {
namespace {

// Longer names exist nowhere; they would end up in messages, records and metrics.
constexpr std::size_t kMaxModelBytes = 1024;

// What is known of the routing members so far; `refusal` is the first thing wrong with them. The
// rest of the body is still read: that it is not JSON at all is the better answer.
struct Members {
  std::optional<RequestPeek> model;
  std::optional<bool> stream;
  std::string refusal;

  void Refuse(const char* why) {
    if (refusal.empty()) refusal = why;
  }
};

bool ReadModel(JsonCursor& cursor, Members& members) {
  if (members.model.has_value()) members.Refuse("\"model\" is given more than once");
  if (cursor.Peek() != JsonKind::kString) {
    members.Refuse("\"model\" must be a string");
    return cursor.Skip();
  }
  RequestPeek& peek = members.model.emplace();
  peek.model_offset = cursor.offset();
  std::string_view raw;
  if (!cursor.String(&raw)) return false;
  peek.model_length = cursor.offset() - peek.model_offset;
  if (raw.empty()) {
    members.Refuse("\"model\" is empty");
  } else if (raw.size() > 6 * kMaxModelBytes) {
    members.Refuse("\"model\" is longer than 1024 bytes");
  } else if (!JsonUnescape(raw, &peek.model)) {
    members.Refuse("\"model\" holds half of a surrogate pair");
  } else if (peek.model.size() > kMaxModelBytes) {
    members.Refuse("\"model\" is longer than 1024 bytes");
  }
  return true;
}

bool ReadStream(JsonCursor& cursor, Members& members) {
  if (members.stream.has_value()) members.Refuse("\"stream\" is given more than once");
  const JsonKind kind = cursor.Peek();
  if (kind != JsonKind::kTrue && kind != JsonKind::kFalse && kind != JsonKind::kNull) {
    members.Refuse("\"stream\" must be a boolean");
  }
  members.stream = kind == JsonKind::kTrue;
  return cursor.Skip();
}

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

}  // namespace

absl::StatusOr<RequestPeek> PeekRequest(std::string_view body) {
  JsonCursor cursor(body);
  if (cursor.Peek() == JsonKind::kNone && cursor.AtEnd()) return Invalid("request body is empty");
  const bool is_object = cursor.Peek() == JsonKind::kObject;
  Members members;
  const bool read = is_object ? cursor.Object([&](std::string_view key) {
    if (JsonTextIs(key, "model")) return ReadModel(cursor, members);
    if (JsonTextIs(key, "stream")) return ReadStream(cursor, members);
    return cursor.Skip();
  })
                              : cursor.Skip();
  if (cursor.too_deep()) return Invalid("request body is nested deeper than 512 levels");
  if (!read || !cursor.AtEnd()) {
    return Invalid("request body is not valid JSON (at byte " + std::to_string(cursor.offset()) +
                   ")");
  }
  if (!simdjson::validate_utf8(body)) return Invalid("request body is not valid UTF-8");
  if (!is_object) return Invalid("request body must be a JSON object");
  if (!members.refusal.empty()) return Invalid(std::move(members.refusal));
  if (!members.model.has_value()) return Invalid("\"model\" is missing");
  members.model->stream = members.stream.value_or(false);
  return *std::move(members.model);
}

Body WithModel(const std::shared_ptr<const std::string>& body, const RequestPeek& peek,
               std::string_view model) {
  assert(peek.model_offset + peek.model_length <= body->size());
  return Body(body).Splice(peek.model_offset, peek.model_length, JsonString(model));
}

}  // namespace hotel::wire
