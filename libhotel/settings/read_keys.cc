// The `virtual_keys:` block.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/failover_group.h"
#include "hotel/virtual_key.h"

#include "libhotel/base/strings.h"
#include "libhotel/settings/sections.h"

namespace hotel::settings {
namespace {

constexpr std::size_t kMaxKeyName = 100;
constexpr std::size_t kMaxKeyBytes = 1024;

/// In billionths of a dollar.
std::optional<std::int64_t> ParseDollars(std::string_view text) {
  double dollars = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, dollars, std::chars_format::fixed);
  constexpr double kMost = static_cast<double>(KeyBudget::kMost / KeyBudget::kDollar);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(dollars >= 0 && dollars <= kMost)) {
    return std::nullopt;
  }
  return std::llround(dollars * static_cast<double>(KeyBudget::kDollar));
}

// The keys read so far, by the lines of their names and values.
struct KeySection {
  Reader* reader;
  std::map<std::string, int> names;
  std::map<std::string, int> values;

  std::optional<std::string> ReadName(const Node& node, const std::string& path) {
    std::optional<std::string> name = reader->NonEmpty(node, path, "a name for the key");
    if (!name) return std::nullopt;
    if (base::CountCharacters(*name) > kMaxKeyName || !IsCleanText(*name)) {
      reader->Error(node.line, path,
                    "is not a name; write 1 to 100 characters and no control characters");
      return std::nullopt;
    }
    const std::string lower = base::Lower(*name);
    if (std::find(kReservedKeyNames.begin(), kReservedKeyNames.end(), lower) !=
        kReservedKeyNames.end()) {
      reader->Error(node.line, path, "is a name the gateway uses itself; choose another");
      return std::nullopt;
    }
    const auto [first, added] = names.emplace(*name, node.line);
    if (added) return name;
    reader->Error(
        node.line, path,
        fmt::format("is the name of the key in line {} too; choose another", first->second));
    return std::nullopt;
  }

  // Never quotes the value.
  std::optional<std::string> ReadValue(const Node& node, const std::string& path) {
    std::optional<std::string> value = reader->NonEmpty(node, path, "the key that clients send");
    if (!value) return std::nullopt;
    if (value->size() > kMaxKeyBytes || !IsCleanText(*value)) {
      reader->Error(node.line, path,
                    "is not a key; write up to 1024 bytes without control characters or outer "
                    "spaces");
      return std::nullopt;
    }
    const auto [first, added] = values.emplace(*value, node.line);
    if (added) return value;
    reader->Error(
        node.line, path,
        fmt::format("is the same key as in line {}; every name needs its own", first->second));
    return std::nullopt;
  }

  /// A whole number within bounds.
  std::optional<std::int64_t> ReadNumber(const Node& node, const std::string& path,
                                         std::int64_t least, std::int64_t most) {
    const auto text = reader->Scalar(node, path, "a number");
    if (!text) return std::nullopt;
    std::int64_t value = 0;
    const char* const end = text->value.data() + text->value.size();
    const auto parsed = std::from_chars(text->value.data(), end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end && value >= least && value <= most) {
      return value;
    }
    reader->Error(
        node.line, path,
        fmt::format("{} is not a whole number from {} to {}", Quoted(text->source), least, most));
    return std::nullopt;
  }

  void ReadBudget(const Node& node, const std::string& path, KeyLimits* limits) {
    const auto text = reader->Scalar(node, path, "dollars such as 25");
    if (!text) return;
    const std::optional<std::int64_t> amount = ParseDollars(text->value);
    if (!amount) {
      reader->Error(node.line, path,
                    fmt::format("{} is not an amount from 0 to 10000000", Quoted(text->source)));
      return;
    }
    limits->has_budget = true;
    limits->budget.amount = *amount;
  }

  void ReadPeriod(const Node& node, const std::string& path, KeyLimits* limits) {
    const auto text = reader->Scalar(node, path, "day, week or month");
    if (!text) return;
    if (const auto period = ParseBudgetPeriod(text->value)) {
      limits->budget.period = *period;
    } else {
      reader->Error(node.line, path,
                    fmt::format("{} is not day, week or month", Quoted(text->source)));
    }
  }

  void ReadProviders(const Node& node, const std::string& path, VirtualKeySpec* spec) {
    const auto items = reader->Items(node, path, "[acme, other]");
    if (!items) return;
    if (items->empty()) {
      reader->Error(node.line, path, "allows nobody; name at least one provider");
    }
    spec->allowed_providers.emplace();
    for (std::size_t i = 0; i < items->size(); ++i) {
      auto name = reader->NonEmpty(*(*items)[i], Join(path, i), "the name of a provider");
      if (name) spec->allowed_providers->push_back(RoutingName(*name));
    }
  }

  /// False when the member is none of these.
  bool ReadLimit(const Member& member, const std::string& path, VirtualKeySpec* spec) {
    const std::string below = Join(path, member.key);
    KeyLimits& limits = spec->limits;
    if (member.key == "rate_limit_rps") {
      if (const auto rps = ReadNumber(*member.value, below, 0, 10000)) {
        limits.rps = static_cast<int>(*rps);
      }
    } else if (member.key == "rate_limit_burst") {
      if (const auto burst = ReadNumber(*member.value, below, 1, 10000)) {
        limits.burst = static_cast<int>(*burst);
      }
    } else if (member.key == "rate_limit_tpm") {
      limits.tpm = ReadNumber(*member.value, below, 1, 100000000);
    } else if (member.key == "budget_usd") {
      ReadBudget(*member.value, below, &limits);
    } else if (member.key == "allowed_providers") {
      ReadProviders(*member.value, below, spec);
    } else {
      return false;
    }
    return true;
  }

  std::optional<VirtualKeySpec> Read(const Node& node, const std::string& path) {
    static const std::vector<std::string> kKnown = {"name",           "key",
                                                    "rate_limit_rps", "rate_limit_burst",
                                                    "rate_limit_tpm", "allowed_providers",
                                                    "budget_usd",     "budget_period"};
    if (node.kind != Node::Kind::kMapping) {
      reader->Error(node.line, path, "is not a key; write {name: dev, key: ...}");
      return std::nullopt;
    }
    std::optional<std::string> name;
    std::optional<std::string> value;
    bool has_name = false;
    bool has_value = false;
    VirtualKeySpec spec;
    spec.place = reader->Place(node.line, path);
    const Member* period = nullptr;
    for (const Member* member : reader->Members(node, path)) {
      if (member->key == "name") {
        has_name = true;
        name = ReadName(*member->value, Join(path, member->key));
      } else if (member->key == "key") {
        has_value = true;
        value = ReadValue(*member->value, Join(path, member->key));
      } else if (member->key == "budget_period") {
        period = member;
        ReadPeriod(*member->value, Join(path, member->key), &spec.limits);
      } else if (!ReadLimit(*member, path, &spec)) {
        reader->UnknownKey(*member, path, kKnown);
      }
    }
    if (!has_name) reader->Error(node.line, path, "has no name; write name: and a word for it");
    if (!has_value) reader->Error(node.line, path, "has no key; write key: and what clients send");
    if (period != nullptr && !spec.limits.has_budget) {
      reader->Error(period->line, Join(path, period->key), "needs budget_usd beside it");
    }
    if (!name || !value) return std::nullopt;
    spec.name = *std::move(name);
    spec.key = Secret(*std::move(value));
    return spec;
  }
};

}  // namespace

std::vector<VirtualKeySpec> ReadVirtualKeys(Reader* reader, const Node& node) {
  std::vector<VirtualKeySpec> keys;
  if (node.kind == Node::Kind::kNull) return keys;
  const auto items = reader->Items(node, "virtual_keys", "[{name: dev, key: \"${DEV_KEY}\"}]");
  if (!items) return keys;
  KeySection section{reader, {}, {}};
  for (std::size_t i = 0; i < items->size(); ++i) {
    std::optional<VirtualKeySpec> key = section.Read(*(*items)[i], Join("virtual_keys", i));
    if (key) keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace hotel::settings
