#include <array>

#include "libhotel/wire/answer_reader.h"
#include "libhotel/wire/messages_parts.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

// What `length` and `content_filter` are to chat.
constexpr std::array<std::string_view, 3> kExplainingReasons = {
    "max_tokens", "model_context_window_exceeded", "refusal"};

struct MessagesAnswer : AnswerMembers {
  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    if (JsonTextIs(key, "content")) return ReadContent(cursor);
    if (JsonTextIs(key, "stop_reason")) return TakeString(cursor, &stop_reason_);
    if (JsonTextIs(key, "usage")) return ReadUsage(cursor, &usage);
    return cursor.Skip();
  }

  Answer::Kind KindOf(int*) const {
    if (!content_array_ || bad_block_) return Answer::Kind::kUndecodable;
    if (output_) return Answer::Kind::kGood;
    return KindOfEmpty(!stop_reason_.empty(), IsOneOf(stop_reason_, kExplainingReasons));
  }

 private:
  bool ReadContent(JsonCursor& cursor) {
    if (cursor.Peek() != JsonKind::kArray) return cursor.Skip();
    content_array_ = true;
    return cursor.Array([&] {
      if (cursor.Peek() != JsonKind::kObject) bad_block_ = true;
      return ReadBlock(cursor, &output_);
    });
  }

  bool content_array_ = false;
  bool bad_block_ = false;
  bool output_ = false;
  std::string_view stop_reason_;  // raw
};

}  // namespace

Answer ReadMessagesAnswer(std::string_view body) { return ReadAnswerAs<MessagesAnswer>(body); }

}  // namespace hotel::wire
