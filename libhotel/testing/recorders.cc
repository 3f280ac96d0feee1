#include "hotel/testing/recorders.h"

#include <string>
#include <string_view>

namespace hotel::testing {

void RecordingSink::OnHead(const AnswerHead& answer_head) {
  if (has_head) violations.emplace_back("OnHead came twice");
  if (ended) violations.emplace_back("OnHead came after OnEnd");
  has_head = true;
  head = answer_head;
}

Flow RecordingSink::OnBody(std::string_view bytes) {
  if (!has_head) violations.emplace_back("OnBody came before OnHead");
  if (ended) violations.emplace_back("OnBody came after OnEnd");
  body.append(bytes);
  chunks.emplace_back(bytes);
  return pause_after != 0 && chunks.size() == pause_after ? Flow::kPause : Flow::kContinue;
}

void RecordingSink::OnEnd(const AnswerEnd& answer_end) {
  if (ended) violations.emplace_back("OnEnd came twice");
  if (!has_head && answer_end.error_kind != ErrorKind::kClientDisconnect) {
    violations.emplace_back("OnEnd came without OnHead");
  }
  ended = true;
  end = answer_end;
}

std::string RecordingSink::header(std::string_view name) const {
  return std::string(FindHeader(head.headers, name));
}

}  // namespace hotel::testing
