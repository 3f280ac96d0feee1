#include "libhotel/wire/request.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include <simdjson.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/json.h"

namespace hotel::wire {
namespace {

// What is known of the routing members so far; `refusal` is the first thing wrong with them. The
// rest of the body is still read: that it is not JSON at all is the better answer.
struct Members {
  RequestPeek peek;
  bool model = false;
  bool stream = false;
  bool options = false;
  std::string refusal;

  void Refuse(const char* why) {
    if (refusal.empty()) refusal = why;
  }
};

bool ReadModel(JsonCursor& cursor, Members& members) {
  if (std::exchange(members.model, true)) members.Refuse("\"model\" is given more than once");
  if (cursor.Peek() != JsonKind::kString) {
    members.Refuse("\"model\" must be a string");
    return cursor.Skip();
  }
  RequestPeek& peek = members.peek;
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
  if (std::exchange(members.stream, true)) members.Refuse("\"stream\" is given more than once");
  const JsonKind kind = cursor.Peek();
  if (kind != JsonKind::kTrue && kind != JsonKind::kFalse && kind != JsonKind::kNull) {
    members.Refuse("\"stream\" must be a boolean");
  }
  members.peek.stream = kind == JsonKind::kTrue;
  return cursor.Skip();
}

// Keeps the largest: a provider may go by any of them.
bool ReadCount(JsonCursor& cursor, std::int64_t* most) {
  constexpr double kLimit = 1e9;
  if (cursor.Peek() != JsonKind::kNumber) return cursor.Skip();
  std::string_view token;
  if (!cursor.Number(&token)) return false;
  double value = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), value);
  // Neither does what fits no double; whether it is too large or too small is all the same.
  if (read.ec != std::errc()) return true;
  if (value >= 1) *most = std::max(*most, static_cast<std::int64_t>(std::min(value, kLimit)));
  return true;
}

// The member `key` when it says how long an answer may get; null for others.
std::int64_t* CountOf(std::string_view key, RequestPeek* peek) {
  if (JsonTextIs(key, "max_tokens") || JsonTextIs(key, "max_completion_tokens") ||
      JsonTextIs(key, "max_output_tokens")) {
    return &peek->max_output;
  }
  return JsonTextIs(key, "n") ? &peek->choices : nullptr;
}

// Reads the value at the cursor and says that usage is asked for over its bytes.
bool TakePlace(JsonCursor& cursor, RequestPeek::UsagePlace place, RequestPeek* peek) {
  peek->usage_place = place;
  peek->usage_offset = cursor.offset();
  const bool read = cursor.Skip();
  peek->usage_length = cursor.offset() - peek->usage_offset;
  return read;
}

bool ReadOptions(JsonCursor& cursor, Members& members) {
  using Place = RequestPeek::UsagePlace;
  if (std::exchange(members.options, true)) {
    members.Refuse("\"stream_options\" is given more than once");
  }
  RequestPeek& peek = members.peek;
  peek.usage_place = Place::kNowhere;
  const JsonKind kind = cursor.Peek();
  if (kind == JsonKind::kNull) return TakePlace(cursor, Place::kNull, &peek);
  if (kind != JsonKind::kObject) return cursor.Skip();
  peek.usage_place = Place::kOptions;
  peek.usage_offset = cursor.offset() + 1;
  peek.usage_length = 0;
  peek.usage_alone = true;
  bool seen = false;
  return cursor.Object([&](std::string_view key) {
    peek.usage_alone = false;
    if (!JsonTextIs(key, "include_usage")) return cursor.Skip();
    if (std::exchange(seen, true)) members.Refuse("\"include_usage\" is given more than once");
    const JsonKind value = cursor.Peek();
    peek.wants_usage = value == JsonKind::kTrue;
    const bool known = peek.wants_usage || value == JsonKind::kFalse || value == JsonKind::kNull;
    return TakePlace(cursor, known ? Place::kValue : Place::kNowhere, &peek);
  });
}

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

std::string_view UsageText(const RequestPeek& peek) noexcept {
  switch (peek.usage_place) {
    case RequestPeek::UsagePlace::kValue:
      return "true";
    case RequestPeek::UsagePlace::kOptions:
      return peek.usage_alone ? R"("include_usage":true)" : R"("include_usage":true,)";
    case RequestPeek::UsagePlace::kNull:
      return R"({"include_usage":true})";
    case RequestPeek::UsagePlace::kBody:
      return R"("stream_options":{"include_usage":true},)";
    case RequestPeek::UsagePlace::kNowhere:
      break;
  }
  return {};
}

std::string FieldValue(std::string_view model) {
  std::string value;
  value.reserve(model.size());
  for (const char c : model) {
    if (!base::IsAsciiControl(c)) value.push_back(c);
  }
  return value;
}

}  // namespace

absl::StatusOr<RequestPeek> PeekRequest(std::string_view body) {
  JsonCursor cursor(body);
  if (cursor.Peek() == JsonKind::kNone && cursor.AtEnd()) return Invalid("request body is empty");
  const bool is_object = cursor.Peek() == JsonKind::kObject;
  Members members;
  members.peek.usage_place = RequestPeek::UsagePlace::kBody;
  members.peek.usage_offset = cursor.offset() + 1;
  const bool read = is_object ? cursor.Object([&](std::string_view key) {
    if (JsonTextIs(key, "model")) return ReadModel(cursor, members);
    if (JsonTextIs(key, "stream")) return ReadStream(cursor, members);
    if (JsonTextIs(key, "stream_options")) return ReadOptions(cursor, members);
    if (std::int64_t* const count = CountOf(key, &members.peek)) return ReadCount(cursor, count);
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
  if (!members.model) return Invalid("\"model\" is missing");
  return std::move(members.peek);
}

Body WithModel(const std::shared_ptr<const std::string>& body, const RequestPeek& peek,
               std::string_view model, bool ask_usage) {
  assert(peek.model_offset + peek.model_length <= body->size());
  assert(peek.usage_offset + peek.usage_length <= body->size());
  std::string name = peek.multipart ? FieldValue(model) : JsonString(model);
  const auto with_model = [&](const Body& from) {
    return from.Splice(peek.model_offset, peek.model_length, std::move(name));
  };
  const std::string_view usage = UsageText(peek);
  if (!ask_usage || peek.wants_usage || usage.empty()) return with_model(Body(body));
  const auto with_usage = [&](const Body& from) {
    return from.Splice(peek.usage_offset, peek.usage_length, std::string(usage));
  };
  // From the back to the front: the place in front stays where it is.
  return peek.usage_offset < peek.model_offset ? with_usage(with_model(Body(body)))
                                               : with_model(with_usage(Body(body)));
}

}  // namespace hotel::wire
