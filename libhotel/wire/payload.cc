#include "libhotel/wire/payload.h"

#include <array>

#include "libhotel/base/strings.h"

namespace hotel::wire {
namespace {

constexpr std::array<std::string_view, 3> kNeverText = {"type", "index", "id"};
constexpr std::array<std::string_view, 8> kAnswerMembers = {
    "id", "object", "choices", "data", "output", "content", "candidates", "usage"};

}  // namespace

std::string_view TrimPayload(std::string_view text) noexcept {
  text = base::Trim(text);
  if (base::StartsWith(text, "\xEF\xBB\xBF")) text = base::Trim(text.substr(3));
  return text;
}

bool IsAnswerMember(std::string_view raw_key) { return IsOneOf(raw_key, kAnswerMembers); }

bool TakeString(JsonCursor& cursor, std::string_view* out) {
  if (cursor.Peek() != JsonKind::kString) return cursor.Skip();
  return cursor.String(out);
}

bool ReadText(JsonCursor& cursor, bool* carries) {
  if (*carries) return cursor.Skip();
  std::string_view raw;
  switch (cursor.Peek()) {
    case JsonKind::kString:
      if (!cursor.String(&raw)) return false;
      *carries = !raw.empty();
      return true;
    case JsonKind::kArray:
      return cursor.Array([&] { return ReadText(cursor, carries); });
    case JsonKind::kObject:
      return cursor.Object([&](std::string_view key) {
        return IsOneOf(key, kNeverText) ? cursor.Skip() : ReadText(cursor, carries);
      });
    default:
      return cursor.Skip();
  }
}

}  // namespace hotel::wire
