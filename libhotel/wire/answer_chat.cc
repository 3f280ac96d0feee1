#include "libhotel/wire/answer_reader.h"
#include "libhotel/wire/chat_parts.h"
#include "libhotel/wire/stream_frame.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

struct ChatAnswer : AnswerMembers {
  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    if (JsonTextIs(key, "choices")) return ReadChoices(cursor);
    if (JsonTextIs(key, "usage")) return ReadUsage(cursor, &usage);
    return cursor.Skip();
  }

  Answer::Kind KindOf(int*) const {
    if (!choices_array_ || bad_choice_) return Answer::Kind::kUndecodable;
    if (output_) return Answer::Kind::kGood;
    return KindOfEmpty(finish_reason_, explained_);
  }

 private:
  bool ReadChoices(JsonCursor& cursor) {
    if (cursor.Peek() != JsonKind::kArray) return cursor.Skip();
    choices_array_ = true;
    return cursor.Array([&] {
      ChatChoice choice;
      if (!ReadChatChoice(cursor, &choice)) return false;
      if (!choice.is_object) bad_choice_ = true;
      if (choice.output) output_ = true;
      if (choice.finish_reason) finish_reason_ = true;
      if (choice.finish_explains) explained_ = true;
      if (choice.usage) MergeUsage(*choice.usage, &usage);
      return true;
    });
  }

  bool choices_array_ = false;
  bool bad_choice_ = false;
  bool output_ = false;
  bool finish_reason_ = false;
  bool explained_ = false;
};

}  // namespace

Answer ReadChatAnswer(std::string_view body) { return ReadAnswerAs<ChatAnswer>(body); }

}  // namespace hotel::wire
