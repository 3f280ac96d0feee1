#include "server/api/answers.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "libhotel/base/time_text.h"

namespace hotel::server::api {
namespace {

/// A name out of a request, as a message repeats it.
std::string Shown(std::string_view name) {
  constexpr std::size_t kMost = 100;
  std::string shown;
  for (const char c : base::TruncateUtf8(name, kMost)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return shown;
}

std::string_view TypeName(FieldType type) {
  switch (type) {
    case FieldType::kString:
      return "a string";
    case FieldType::kBool:
      return "true or false";
    case FieldType::kInteger:
      return "a whole number";
    case FieldType::kNumber:
      return "a number";
    case FieldType::kStrings:
      return "an array of strings";
    case FieldType::kToggles:
      return "an object of booleans";
  }
  return "";
}

bool Fits(const Field& field, const Json& value) {
  if (value.is_null()) return field.nullable;
  switch (field.type) {
    case FieldType::kString:
      return value.is_string();
    case FieldType::kBool:
      return value.is_boolean();
    case FieldType::kInteger:
      return value.is_number_integer();
    case FieldType::kNumber:
      return value.is_number();
    case FieldType::kStrings:
      return value.is_array() && std::all_of(value.begin(), value.end(),
                                             [](const Json& each) { return each.is_string(); });
    case FieldType::kToggles:
      return value.is_object() && std::all_of(value.begin(), value.end(),
                                              [](const Json& each) { return each.is_boolean(); });
  }
  return false;
}

const Field* FindField(const Route& route, std::string_view name) {
  for (const Field& field : route.body) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

absl::Status CheckMember(const Route& route, const std::string& name, const Json& value) {
  if (route.free_body) {
    if (value.is_string() || value.is_boolean() || value.is_number()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("{} must be a string, a number or a boolean", Shown(name)));
  }
  const Field* const field = FindField(route, name);
  if (field == nullptr) {
    return absl::InvalidArgumentError(fmt::format("unknown field: {}", Shown(name)));
  }
  if (!Fits(*field, value)) {
    return absl::InvalidArgumentError(fmt::format("{} must be {}{}", name, TypeName(field->type),
                                                  field->nullable ? " or null" : ""));
  }
  return absl::OkStatus();
}

/// Reads JSON; `repeated` becomes true when some object names a member twice: which one is meant is
/// anybody's guess.
Json Parse(std::string_view text, bool* repeated) {
  using Event = Json::parse_event_t;
  std::vector<std::vector<std::string>> open;
  const Json::parser_callback_t watch = [&](int, Event event, Json& value) {
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key) {
      auto name = value.get<std::string>();
      std::vector<std::string>& names = open.back();
      *repeated = *repeated || std::find(names.begin(), names.end(), name) != names.end();
      names.push_back(std::move(name));
    }
    return true;
  };
  return Json::parse(text.begin(), text.end(), watch, false);
}

constexpr int kMaxDepth = 8;

/// Brackets outside of strings, before a parser that recurses sees them.
bool TooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxDepth) return true;
  }
  return false;
}

}  // namespace

Reply JsonReply(const Json& body, int status) {
  // Names come from operators and providers: bytes that are not UTF-8 must not end the answer.
  return {status,
          {{"content-type", "application/json"}, {"cache-control", "no-store"}},
          body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Reply NoContent() { return {204, {}, ""}; }

Reply Refusal(int status, std::string_view text) {
  // It may repeat a name out of the request.
  std::string shown;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = base::Utf8Length(rest);
    shown += length == 0 ? std::string_view("?") : rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return {status,
          {{"content-type", "text/plain; charset=utf-8"}, {"cache-control", "no-store"}},
          std::move(shown)};
}

Reply StatusReply(const absl::Status& status) {
  const std::string text(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return Refusal(400, text);
    case absl::StatusCode::kNotFound:
      return Refusal(404, text);
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
      return Refusal(409, text);
    case absl::StatusCode::kUnavailable:
      return Refusal(503, text);
    default:
      return Refusal(500, text);
  }
}

Reply OwnedByFile(const FileOwned& file, std::string_view what) {
  return Refusal(409, fmt::format("{} is defined in {}; change it there", what, file.file));
}

Json Time(WallTime time) { return base::FormatTime(time); }

Json Time(TimePoint at) {
  const auto ago = std::chrono::steady_clock::now() - at;
  return Time(std::chrono::time_point_cast<WallTime::duration>(
      std::chrono::system_clock::now() -
      std::chrono::duration_cast<std::chrono::system_clock::duration>(ago)));
}

Json OrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

absl::Status ReadBody(const Route& route, std::string_view text, Json* out) {
  *out = Json::object();
  if (!route.takes_body()) return absl::OkStatus();
  if (TooDeep(text)) return absl::InvalidArgumentError("the body is nested too deep");
  bool repeated = false;
  Json body = Parse(text, &repeated);
  if (body.is_discarded()) return absl::InvalidArgumentError("the body is not valid JSON");
  if (!body.is_object()) return absl::InvalidArgumentError("the body must be a JSON object");
  if (repeated) return absl::InvalidArgumentError("the body names a member twice");
  for (const auto& [name, value] : body.items()) {
    if (absl::Status status = CheckMember(route, name, value); !status.ok()) return status;
  }
  for (const Field& field : route.body) {
    if (field.required && !body.contains(std::string(field.name))) {
      return absl::InvalidArgumentError(fmt::format("{} is required", field.name));
    }
  }
  *out = std::move(body);
  return absl::OkStatus();
}

}  // namespace hotel::server::api
