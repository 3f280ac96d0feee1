#include "libhotel/wire/error_value.h"

#include <array>
#include <charconv>

namespace hotel::wire {
namespace {

struct TypeStatus {
  std::string_view type;
  int status;
};
constexpr std::array<TypeStatus, 8> kTypeStatuses = {{
    {"authentication_error", 401},
    {"billing_error", 402},
    {"permission_error", 403},
    {"not_found_error", 404},
    {"request_too_large", 413},
    {"rate_limit_error", 429},
    {"timeout_error", 504},
    {"overloaded_error", 529},
}};

void TakeStatus(std::string_view text, int* status) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end || !(value >= 400 && value < 600)) return;
  if (value == static_cast<int>(value)) *status = static_cast<int>(value);
}

}  // namespace

bool ReadStatusCode(JsonCursor& cursor, int* status) {
  std::string_view token;
  switch (cursor.Peek()) {
    case JsonKind::kNumber:
      if (!cursor.Number(&token)) return false;
      break;
    case JsonKind::kString:
      if (!cursor.String(&token)) return false;
      break;
    default:
      return cursor.Skip();
  }
  TakeStatus(token, status);
  return true;
}

int StatusOfErrorType(std::string_view raw_type) {
  for (const TypeStatus& row : kTypeStatuses) {
    if (JsonTextIs(raw_type, row.type)) return row.status;
  }
  return 0;
}

bool ReadErrorValue(JsonCursor& cursor, ErrorValue* error) {
  const JsonKind kind = cursor.Peek();
  error->is_null = error->is_null && kind == JsonKind::kNull;
  std::string_view token;
  switch (kind) {
    case JsonKind::kObject:
      return cursor.Object([&](std::string_view key) {
        error->carries = true;
        if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &error->code_status);
        if (JsonTextIs(key, "type") && cursor.Peek() == JsonKind::kString) {
          if (!cursor.String(&token)) return false;
          error->type_status = StatusOfErrorType(token);
          return true;
        }
        return cursor.Skip();
      });
    case JsonKind::kArray:
      return cursor.Array([&] {
        error->carries = true;
        return cursor.Skip();
      });
    case JsonKind::kString:
      if (!cursor.String(&token)) return false;
      error->carries = !token.empty();
      return true;
    case JsonKind::kNumber:
      if (!cursor.Number(&token)) return false;
      error->carries = !JsonNumberIsZero(token);
      return true;
    case JsonKind::kTrue:
      error->carries = true;
      return cursor.Skip();
    default:
      return cursor.Skip();
  }
}

}  // namespace hotel::wire
