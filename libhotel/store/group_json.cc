#include "libhotel/store/group_json.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/ids.h"

namespace hotel::store {

std::string EncodeIds(const std::vector<std::string>& ids) {
  std::string json = "[";
  for (const std::string& id : ids) {
    if (json.size() > 1) json += ',';
    json.append("\"").append(id).append("\"");
  }
  return json += ']';
}

std::string EncodeToggles(const std::map<std::string, bool>& toggles) {
  std::string json = "{";
  for (const auto& [id, enabled] : toggles) {
    if (json.size() > 1) json += ',';
    json.append("\"").append(id).append(enabled ? "\":true" : "\":false");
  }
  return json += '}';
}

absl::StatusOr<std::vector<std::string>> DecodeIds(std::string_view json) {
  const absl::Status damaged = absl::DataLossError("priority_order is no JSON array of UUIDs");
  simdjson::dom::parser parser;
  simdjson::dom::array array;
  if (parser.parse(json.data(), json.size()).get(array) != simdjson::SUCCESS) return damaged;
  std::vector<std::string> ids;
  for (const simdjson::dom::element element : array) {
    std::string_view id;
    if (element.get(id) != simdjson::SUCCESS || !base::IsUuid(id)) return damaged;
    ids.emplace_back(id);
  }
  return ids;
}

absl::StatusOr<std::map<std::string, bool>> DecodeToggles(std::string_view json) {
  const absl::Status damaged =
      absl::DataLossError("entry_enabled is no JSON object of UUIDs and booleans");
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(json.data(), json.size()).get(object) != simdjson::SUCCESS) return damaged;
  std::map<std::string, bool> toggles;
  for (const simdjson::dom::key_value_pair member : object) {
    bool enabled = false;
    if (member.value.get(enabled) != simdjson::SUCCESS || !base::IsUuid(member.key)) return damaged;
    toggles.insert_or_assign(std::string(member.key), enabled);
  }
  return toggles;
}

}  // namespace hotel::store
