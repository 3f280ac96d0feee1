#include "libhotel/decide/refusal_names.h"

#include <algorithm>
#include <array>

#include "libhotel/base/strings.h"

namespace hotel::decide {
namespace {

struct NameRow {
  std::string_view name;
  FieldName says;
};
constexpr FieldName kSilent{ClauseKind::kMessage, true, false};
constexpr FieldName kCode{ClauseKind::kCode, false, false};
constexpr FieldName kQuota{ClauseKind::kQuotaName, false, false};

// By length: a name is compared with the few that are as long.
constexpr std::array kNames = [] {
  std::array names = std::to_array<NameRow>({
      {"@type", kSilent},       {"request_id", kSilent},    {"requestid", kSilent},
      {"id", kSilent},          {"sid", kSilent},           {"url", kSilent},
      {"param", kSilent},       {"domain", kSilent},        {"service", kSilent},
      {"consumer", kSilent},    {"user_id", kSilent},       {"plan_type", kSilent},
      {"model", kSilent},       {"name", kSilent},          {"remedy_hint", kSilent},
      {"object", kSilent},      {"trace_id", kSilent},      {"timestamp", kSilent},
      {"provider", kSilent},    {"provider_name", kSilent}, {"code", kCode},
      {"type", kCode},          {"status", kCode},          {"reason", kCode},
      {"error_code", kCode},    {"error_type", kCode},      {"errorcode", kCode},
      {"err_code", kCode},      {"__type", kCode},          {"errortype", kCode},
      {"error_name", kCode},    {"subcode", kCode},         {"quotaid", kQuota},
      {"quota_limit", kQuota},  {"quota_metric", kQuota},   {"quotametric", kQuota},
      {"limit_source", kQuota}, {"limit_type", kQuota},     {"quota_id", kQuota},
  });
  std::sort(names.begin(), names.end(), [](const NameRow& a, const NameRow& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
  return names;
}();

// Where the names of each length begin.
constexpr std::array kFirst = [] {
  std::array<std::uint8_t, kMaxFieldName + 2> first{};
  for (std::size_t size = 0; size < first.size(); ++size) {
    while (first[size] < kNames.size() && kNames[first[size]].name.size() < size) ++first[size];
  }
  return first;
}();

bool NamesTime(std::string_view name) noexcept {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto at = [&](std::string_view word) { return base::StartsWith(name.substr(i), word); };
    switch (name[i]) {
      case 'r':
        if (at("retry") || at("reset")) return true;
        break;
      case 'd':
        if (at("delay")) return true;
        break;
      case 'w':
        if (at("wait")) return true;
        break;
      case 'c':
        if (at("cooldown")) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

}  // namespace

FieldName ReadFieldName(std::string_view name) noexcept {
  if (name.size() <= kMaxFieldName) {
    for (std::size_t i = kFirst[name.size()]; i < kFirst[name.size() + 1]; ++i) {
      if (kNames[i].name == name) return kNames[i].says;
    }
  }
  FieldName says;
  says.timed = NamesTime(name);
  return says;
}

}  // namespace hotel::decide
