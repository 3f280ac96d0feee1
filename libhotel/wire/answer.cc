#include "libhotel/wire/answer.h"

#include "libhotel/wire/answer_reader.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/hidden_error.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

// The endpoints whose answers are data: whatever is JSON and no error is good.
struct PlainAnswer : AnswerMembers {
  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    return JsonTextIs(key, "usage") ? ReadUsage(cursor, &usage) : cursor.Skip();
  }
  Answer::Kind KindOf(int*) const { return Answer::Kind::kGood; }
};

}  // namespace

int HiddenStatus(std::string_view body) {
  const std::optional<HiddenError> error = ReadHiddenError(body);
  return error ? error->status : 502;
}

Answer ReadAnswer(Endpoint endpoint, std::string_view body) {
  switch (DialectOf(endpoint)) {
    case Dialect::kChat:
      return ReadChatAnswer(body);
    case Dialect::kMessages:
      return ReadMessagesAnswer(body);
    case Dialect::kResponses:
      return ReadResponsesAnswer(body);
    case Dialect::kPlain:
      break;
  }
  // Some servers answer with a bare array (rerank); that is data too.
  JsonCursor cursor(TrimPayload(body));
  if (cursor.Peek() == JsonKind::kObject) return ReadAnswerAs<PlainAnswer>(body);
  Answer answer;
  if (cursor.Skip() && cursor.AtEnd()) answer.kind = Answer::Kind::kGood;
  return answer;
}

}  // namespace hotel::wire
