// How a whole answer of any dialect is read; the dialects differ in the members they look at and in
// what makes an answer.
#ifndef HOTEL_WIRE_ANSWER_READER_H_
#define HOTEL_WIRE_ANSWER_READER_H_

#include <optional>
#include <string_view>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/wire/answer.h"
#include "libhotel/wire/error_value.h"
#include "libhotel/wire/json.h"
#include "libhotel/wire/payload.h"

namespace hotel::wire {

/// What every dialect's answer has. A dialect derives from it and adds
///   bool ReadMember(cursor, key):    reads a member of the object, all but `error`;
///   Kind KindOf(int* error_status):  judges it when all are read and no bare error was found.
struct AnswerMembers {
  bool answer_member = false;  ///< one that makes `error` beside it no bare error (R24)
  ErrorValue error;
  std::optional<TokenUsage> usage;

  /// Carries no text: `stated` says that a reason is given, `explains` that it is one for that.
  /// Tokens that were made explain it too (hidden reasoning).
  Answer::Kind KindOfEmpty(bool stated, bool explains) const {
    if (!stated) return Answer::Kind::kEmpty;
    const bool explained = explains || (usage && usage->completion > 0);
    return explained ? Answer::Kind::kEmptyServed : Answer::Kind::kEmptyCharged;
  }
};

/// The status of a body that is known to be a bare error.
int HiddenStatus(std::string_view body);

template <typename Members>
Answer ReadAnswerAs(std::string_view body) {
  JsonCursor cursor(TrimPayload(body));
  Members members;
  Answer answer;
  const bool read = cursor.Object([&](std::string_view key) {
    if (IsAnswerMember(key)) members.answer_member = true;
    if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &members.error);
    return members.ReadMember(cursor, key);
  });
  if (!read || !cursor.AtEnd()) return answer;
  if (!members.error.is_null && !members.answer_member) {
    answer.kind = Answer::Kind::kHiddenError;
    answer.error_status = HiddenStatus(body);
    return answer;
  }
  answer.kind = members.KindOf(&answer.error_status);
  answer.usage = members.usage;
  return answer;
}

Answer ReadChatAnswer(std::string_view body);
Answer ReadMessagesAnswer(std::string_view body);
Answer ReadResponsesAnswer(std::string_view body);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_ANSWER_READER_H_
