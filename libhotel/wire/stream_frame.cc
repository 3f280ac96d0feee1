#include "libhotel/wire/stream_frame.h"

#include <algorithm>

#include "libhotel/wire/stream_reader.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

// Streams of no known dialect: images, speech, transcripts.
struct PlainFrame : FrameMembers {
  static constexpr Kind kDone = Kind::kTerminator;
  static constexpr Kind kBroken = Kind::kOutput;
  static Kind KindOfNothing(std::string_view) noexcept { return Kind::kNoOutput; }

  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &error);
    if (JsonTextIs(key, "usage")) return ReadUsage(cursor, &usage);
    if (JsonTextIs(key, "type")) return ReadType(cursor);
    if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &code_status);
    return cursor.Skip();
  }
  Kind KindOf(std::string_view) const {
    return JsonTextIs(type, "error") ? Kind::kError : Kind::kOutput;
  }
};

StreamFrame ReadByDialect(Dialect dialect, std::string_view event_name, std::string_view data) {
  switch (dialect) {
    case Dialect::kChat:
      return ReadChatFrame(event_name, data);
    case Dialect::kMessages:
      return ReadMessagesFrame(event_name, data);
    case Dialect::kResponses:
      return ReadResponsesFrame(event_name, data);
    case Dialect::kPlain:
      break;
  }
  return ReadFrame<PlainFrame>(event_name, data);
}

}  // namespace

StreamFrame ReadStreamFrame(Dialect dialect, std::string_view event_name, std::string_view data) {
  const StreamFrame frame = ReadByDialect(dialect, event_name, data);
  if (frame.kind != Kind::kOutput) return frame;
  // Google wraps an error in an array of one (facts k).
  const std::string_view text = TrimPayload(data);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return frame;
  const StreamFrame inner = ReadByDialect(dialect, event_name, text.substr(1, text.size() - 2));
  return inner.kind == Kind::kError ? inner : frame;
}

void MergeUsage(const TokenUsage& more, std::optional<TokenUsage>* usage) {
  if (!usage->has_value()) {
    *usage = more;
    return;
  }
  TokenUsage& known = **usage;
  known.prompt = std::max(known.prompt, more.prompt);
  known.completion = std::max(known.completion, more.completion);
  known.cached = std::max(known.cached, more.cached);
  known.reasoning = std::max(known.reasoning, more.reasoning);
  known.estimated = known.estimated && more.estimated;
}

std::string_view MissingTerminator(Dialect dialect) noexcept {
  return dialect == Dialect::kChat ? "data: [DONE]\n\n" : "";
}

}  // namespace hotel::wire
