#include "server/sim/asked.h"

#include <algorithm>

#include <simdjson.h>

namespace hotel::sim {
namespace {

int CountOf(simdjson::ondemand::value value) {
  simdjson::ondemand::array array;
  if (value.get_array().get(array)) return 1;
  int count = 0;
  bool numbers = false;
  for (auto item : array) {
    simdjson::ondemand::json_type type;
    if (item.type().get(type)) return 1;
    numbers |= type == simdjson::ondemand::json_type::number;
    ++count;
  }
  return numbers ? 1 : count;  // numbers are the tokens of one text
}

std::optional<Asked> ReadJson(std::string* body) {
  static simdjson::ondemand::parser parser;
  body->reserve(body->size() + simdjson::SIMDJSON_PADDING);
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser.iterate(*body).get(document) || document.get_object().get(object)) return std::nullopt;

  Asked asked;
  bool has_model = false;
  for (auto item : object) {
    simdjson::ondemand::field field;
    std::string_view key;
    if (std::move(item).get(field) || field.unescaped_key().get(key)) return std::nullopt;
    simdjson::ondemand::value value = field.value();
    if (key == "model") {
      std::string_view text;
      if (value.get_string().get(text)) return std::nullopt;
      asked.model = text;
      has_model = true;
    } else if (key == "stream") {
      if (value.get_bool().get(asked.stream)) asked.stream = false;
    } else if (key == "stream_options") {
      simdjson::ondemand::object options;
      if (value.get_object().get(options)) continue;
      if (options["include_usage"].get_bool().get(asked.include_usage)) asked.include_usage = false;
    } else if (key == "input" || key == "documents") {
      asked.inputs = CountOf(value);
    } else if (key == "encoding_format") {
      std::string_view text;
      asked.base64 = !value.get_string().get(text) && text == "base64";
    }
  }
  const char* rest = nullptr;
  const bool at_end = document.current_location().get(rest) != simdjson::SUCCESS;
  if (!has_model || !at_end) return std::nullopt;
  return asked;
}

/// The value of `name="..."` in a field such as Content-Disposition; "" when it is not there.
std::string Parameter(std::string_view line, std::string_view name) {
  while (true) {
    const std::size_t semicolon = line.find(';');
    if (semicolon == std::string_view::npos) return {};
    line.remove_prefix(semicolon + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.substr(0, name.size()) != name || line.substr(name.size(), 1) != "=") continue;
    line.remove_prefix(name.size() + 1);
    if (line.substr(0, 1) != "\"") return std::string(line.substr(0, line.find(';')));
    line.remove_prefix(1);
    return std::string(line.substr(0, line.find('"')));
  }
}

bool ReadPart(std::string_view part, std::vector<FormField>* fields) {
  const std::size_t head = part.find("\r\n\r\n");
  if (head == std::string_view::npos) return false;
  FormField field;
  std::string_view lines = part.substr(0, head + 2);
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 2);
    constexpr std::string_view kDisposition = "content-disposition:";
    std::string start(line.substr(0, kDisposition.size()));
    std::transform(start.begin(), start.end(), start.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (start != kDisposition) continue;
    field.name = Parameter(line, "name");
    field.file_name = Parameter(line, "filename");
  }
  field.bytes = part.substr(head + 4);
  fields->push_back(std::move(field));
  return !fields->back().name.empty();
}

std::optional<Asked> ReadForm(std::string_view content_type, std::string_view body) {
  const std::string boundary = Parameter(content_type, "boundary");
  if (boundary.empty()) return std::nullopt;
  const std::string delimiter = "\r\n--" + boundary;
  if (body.substr(0, delimiter.size() - 2) != std::string_view(delimiter).substr(2)) {
    return std::nullopt;
  }
  body.remove_prefix(delimiter.size() - 2);
  Asked asked;
  while (body.substr(0, 2) == "\r\n") {
    body.remove_prefix(2);
    const std::size_t end = body.find(delimiter);
    if (end == std::string_view::npos || !ReadPart(body.substr(0, end), &asked.fields)) {
      return std::nullopt;
    }
    body.remove_prefix(end + delimiter.size());
  }
  if (body.substr(0, 2) != "--") return std::nullopt;  // the form is cut
  bool has_model = false;
  for (const FormField& field : asked.fields) {
    if (field.name == "model") {
      has_model = true;
      asked.model = field.bytes;
    } else if (field.name == "stream") {
      asked.stream = field.bytes == "true";
    }
  }
  if (!has_model) return std::nullopt;
  return asked;
}

}  // namespace

std::optional<Asked> ReadAsked(HttpRequest* request) {
  constexpr std::string_view kForm = "multipart/form-data";
  const std::string_view type = request->header("content-type");
  if (type.substr(0, kForm.size()) == kForm) return ReadForm(type, request->body);
  return ReadJson(&request->body);
}

}  // namespace hotel::sim
