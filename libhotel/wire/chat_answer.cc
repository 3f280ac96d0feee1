#include <optional>
#include <string_view>

#include "libhotel/wire/chat.h"
#include "libhotel/wire/chat_parts.h"
#include "libhotel/wire/error_value.h"
#include "libhotel/wire/hidden_error.h"
#include "libhotel/wire/json.h"

namespace hotel::wire {
namespace {

struct Parts {
  bool answer_member = false;
  bool choices_array = false;
  bool bad_choice = false;
  bool output = false;
  bool finish_reason = false;
  bool explained = false;
  ErrorValue error;
};

bool ReadChoices(JsonCursor& cursor, Parts* body) {
  if (cursor.Peek() != JsonKind::kArray) return cursor.Skip();
  body->choices_array = true;
  return cursor.Array([&] {
    ChatChoice choice;
    if (!ReadChatChoice(cursor, &choice)) return false;
    if (!choice.is_object) body->bad_choice = true;
    if (choice.output) body->output = true;
    if (choice.finish_reason) body->finish_reason = true;
    if (choice.finish_explains) body->explained = true;
    return true;
  });
}

bool ReadUsage(JsonCursor& cursor, Parts* body) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  return cursor.Object([&](std::string_view key) {
    if (!JsonTextIs(key, "completion_tokens") || cursor.Peek() != JsonKind::kNumber) {
      return cursor.Skip();
    }
    std::string_view token;
    if (!cursor.Number(&token)) return false;
    if (token.front() != '-' && !JsonNumberIsZero(token)) body->explained = true;
    return true;
  });
}

bool ReadBody(JsonCursor& cursor, Parts* body) {
  return cursor.Object([&](std::string_view key) {
    if (IsAnswerMember(key)) body->answer_member = true;
    if (JsonTextIs(key, "choices")) return ReadChoices(cursor, body);
    if (JsonTextIs(key, "usage")) return ReadUsage(cursor, body);
    if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &body->error);
    return cursor.Skip();
  }) && cursor.AtEnd();
}

}  // namespace

ChatAnswer ReadChatAnswer(std::string_view text) {
  using Kind = ChatAnswer::Kind;
  JsonCursor cursor(TrimPayload(text));
  Parts body;
  if (!ReadBody(cursor, &body)) return {Kind::kUndecodable, 0};
  if (!body.error.is_null && !body.answer_member) {
    const std::optional<HiddenError> error = ReadHiddenError(text);
    return {Kind::kHiddenError, error ? error->status : 502};
  }
  if (!body.choices_array || body.bad_choice) return {Kind::kUndecodable, 0};
  if (body.output) return {Kind::kGood, 0};
  if (!body.finish_reason) return {Kind::kEmpty, 0};
  return {body.explained ? Kind::kEmptyServed : Kind::kEmptyCharged, 0};
}

}  // namespace hotel::wire
