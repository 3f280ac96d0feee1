#include "libhotel/wire/responses_parts.h"

#include <array>

#include "libhotel/wire/payload.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

// Items that are announced empty and filled by deltas.
constexpr std::array<std::string_view, 4> kFilledItems = {"message", "reasoning", "function_call",
                                                          "custom_tool_call"};
// Their other members (status, role, ids, encrypted reasoning) are no output.
constexpr std::array<std::string_view, 5> kItemOutput = {"content", "summary", "name", "arguments",
                                                         "input"};

bool ReadIncomplete(JsonCursor& cursor, Response* response) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  return cursor.Object([&](std::string_view key) {
    return JsonTextIs(key, "reason") ? TakeString(cursor, &response->incomplete) : cursor.Skip();
  });
}

}  // namespace

bool ReadItem(JsonCursor& cursor, bool* output) {
  if (cursor.Peek() != JsonKind::kObject) return ReadText(cursor, output);
  std::string_view type;
  bool carries = false;
  const bool read = cursor.Object([&](std::string_view key) {
    if (JsonTextIs(key, "type")) return TakeString(cursor, &type);
    return IsOneOf(key, kItemOutput) ? ReadText(cursor, &carries) : cursor.Skip();
  });
  if (carries || (!type.empty() && !IsOneOf(type, kFilledItems))) *output = true;
  return read;
}

bool ReadResponseMember(JsonCursor& cursor, std::string_view key, Response* response) {
  if (JsonTextIs(key, "output")) {
    if (cursor.Peek() != JsonKind::kArray) return cursor.Skip();
    response->output_array = true;
    return cursor.Array([&] { return ReadItem(cursor, &response->output); });
  }
  if (JsonTextIs(key, "status")) return TakeString(cursor, &response->status);
  if (JsonTextIs(key, "incomplete_details")) return ReadIncomplete(cursor, response);
  if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &response->error);
  if (JsonTextIs(key, "usage")) return ReadUsage(cursor, &response->usage);
  return cursor.Skip();
}

}  // namespace hotel::wire
