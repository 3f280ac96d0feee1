#include <array>

#include "libhotel/wire/answer_reader.h"
#include "libhotel/wire/responses_parts.h"

namespace hotel::wire {
namespace {

constexpr std::array<std::string_view, 2> kExplainingReasons = {"max_output_tokens",
                                                                "content_filter"};
// Background work: the answer is the promise of one.
constexpr std::array<std::string_view, 2> kUnderWay = {"queued", "in_progress"};

struct ResponsesAnswer : AnswerMembers {
  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    const bool read = ReadResponseMember(cursor, key, &response_);
    usage = response_.usage;
    return read;
  }

  Answer::Kind KindOf(int* error_status) const {
    // A whole answer about a failure: the error is as hidden behind the 200 as a bare one.
    if (JsonTextIs(response_.status, "failed")) {
      *error_status = error.code_status != 0 ? error.code_status : 502;
      return Answer::Kind::kHiddenError;
    }
    if (!response_.output_array) return Answer::Kind::kUndecodable;
    if (response_.output || IsOneOf(response_.status, kUnderWay)) return Answer::Kind::kGood;
    return KindOfEmpty(!response_.status.empty(),
                       IsOneOf(response_.incomplete, kExplainingReasons));
  }

 private:
  Response response_;
};

}  // namespace

Answer ReadResponsesAnswer(std::string_view body) { return ReadAnswerAs<ResponsesAnswer>(body); }

}  // namespace hotel::wire
