#include "libhotel/store/model_json.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "hotel/failover_group.h"

#include "libhotel/wire/json.h"

namespace hotel::store {
namespace {

constexpr std::array<std::pair<const char*, std::string ModelDetails::*>, 2> kTexts = {{
    {"description", &ModelDetails::description},
    {"modality", &ModelDetails::modality},
}};
constexpr std::array<std::pair<const char*, std::vector<std::string> ModelDetails::*>, 4> kLists = {
    {
        {"input_modalities", &ModelDetails::input_modalities},
        {"output_modalities", &ModelDetails::output_modalities},
        {"capabilities", &ModelDetails::capabilities},
        {"parameters", &ModelDetails::parameters},
    }};

void AddKey(std::string& json, const char* name) {
  if (json.size() > 1) json += ',';
  json.append(wire::JsonString(name)).append(":");
}

}  // namespace

std::string EncodeDetails(const ModelDetails& details) {
  std::string json = "{";
  for (const auto& [name, field] : kTexts) {
    if ((details.*field).empty()) continue;
    AddKey(json, name);
    json += wire::JsonString(details.*field);
  }
  for (const auto& [name, field] : kLists) {
    if ((details.*field).empty()) continue;
    AddKey(json, name);
    char before = '[';
    for (const std::string& value : details.*field) {
      json.append(1, std::exchange(before, ',')).append(wire::JsonString(value));
    }
    json += ']';
  }
  return json += '}';
}

ModelDetails DecodeDetails(std::string_view json) {
  ModelDetails details;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(json.data(), json.size()).get(object) != simdjson::SUCCESS) return details;
  for (const auto& [name, field] : kTexts) {
    std::string_view text;
    if (object[name].get(text) == simdjson::SUCCESS) details.*field = text;
  }
  for (const auto& [name, field] : kLists) {
    simdjson::dom::array values;
    if (object[name].get(values) != simdjson::SUCCESS) continue;
    for (const simdjson::dom::element value : values) {
      std::string_view text;
      if (value.get(text) == simdjson::SUCCESS) (details.*field).emplace_back(text);
    }
  }
  return details;
}

}  // namespace hotel::store
