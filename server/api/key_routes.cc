// Virtual keys (facts o). A key comes out once, in the answer that makes it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

double Dollars(std::int64_t amount) {
  return static_cast<double>(amount) / static_cast<double>(KeyBudget::kDollar);
}

WallTime Now() {
  return std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json KeyJson(const Context& context, const VirtualKey& key) {
  const KeyUsage used = context.key_gate->Usage(key.id);
  const KeyLimits& limits = key.spec.limits;
  Json json;
  json["id"] = key.id;
  json["name"] = key.spec.name;
  json["key_preview"] = key.preview;
  json["enabled"] = key.spec.enabled;
  json["read_only"] = key.from_file;
  json["rate_limit_rps"] = OrNull(limits.rps);
  json["rate_limit_burst"] = OrNull(limits.burst);
  json["rate_limit_tpm"] = OrNull(limits.tpm);
  json["allowed_providers"] = limits.providers == nullptr ? Json(nullptr) : Json(*limits.providers);
  json["budget_usd"] = nullptr;
  json["budget_period"] = nullptr;
  json["budget_used_usd"] = nullptr;
  json["budget_remaining_usd"] = nullptr;
  json["budget_resets_at"] = nullptr;
  if (limits.has_budget) {
    const WallTime now = Now();
    const std::int64_t spent = context.key_gate->Spent(key.id, limits.budget.period, now);
    json["budget_usd"] = Dollars(limits.budget.amount);
    json["budget_period"] = BudgetPeriodName(limits.budget.period);
    json["budget_used_usd"] = Dollars(spent);
    json["budget_remaining_usd"] = Dollars(std::max<std::int64_t>(limits.budget.amount - spent, 0));
    json["budget_resets_at"] = Time(BudgetPeriodEnd(limits.budget.period, now));
  }
  json["requests"] = used.requests;
  json["tokens_used"] = used.tokens();
  json["tokens_prompt"] = used.prompt;
  json["tokens_completion"] = used.completion;
  json["tokens_prompt_cache_hit"] = used.cached;
  json["tokens_completion_reasoning"] = used.reasoning;
  json["cost_usd"] = Dollars(used.cost);
  json["last_used_at"] = used.last_used_at ? Time(*used.last_used_at) : Json(nullptr);
  json["created_at"] = Time(key.created_at);
  json["updated_at"] = Time(key.updated_at);
  return json;
}

Reply ListKeys(const Context& context, const Call&) {
  const auto keys = context.keys->Snapshot();
  Json list = Json::array();
  for (const VirtualKey& key : keys->keys()) list.push_back(KeyJson(context, key));
  return JsonReply(list);
}

/// What a body says about a key; what it leaves out stays.
class Edit {
 public:
  /// Reads it; the error says what is wrong.
  static absl::StatusOr<Edit> Read(const Context& context, const Call& call) {
    Edit edit(call);
    for (const char* const name : {"rate_limit_rps", "rate_limit_burst", "rate_limit_tpm"}) {
      // What fits no limit is told by the store; what does not fit its type, here.
      const Json* const value = call.Find(name);
      if (value == nullptr || value->is_null()) continue;
      const bool small = value->is_number_unsigned() ? value->get<std::uint64_t>() <= kMostLimit
                                                     : value->get<std::int64_t>() >= -kMostLimit;
      if (!small) return absl::InvalidArgumentError(fmt::format("{} is out of range", name));
    }
    if (const Json* period = call.Find("budget_period"); period != nullptr && !period->is_null()) {
      edit.period_ = ParseBudgetPeriod(period->get<std::string>());
      if (!edit.period_) return absl::InvalidArgumentError("budget_period is day, week or month");
    }
    if (const Json* budget = call.Find("budget_usd"); budget != nullptr && !budget->is_null()) {
      const auto dollars = budget->get<double>();
      if (!(dollars >= 0 && dollars <= Dollars(KeyBudget::kMost))) {
        return absl::InvalidArgumentError("budget_usd is 0 to 10000000, or null for none");
      }
      edit.budget_ = std::llround(dollars * static_cast<double>(KeyBudget::kDollar));
    }
    if (const Json* list = call.Find("allowed_providers"); list != nullptr && !list->is_null()) {
      const auto snapshot = context.hotel->groups().Snapshot();
      std::vector<std::string> ids;
      for (const auto& name : list->get<std::vector<std::string>>()) {
        auto provider = snapshot->FindProviderById(base::Lower(name));
        if (provider == nullptr) provider = snapshot->FindProvider(RoutingName(name));
        if (provider == nullptr) {
          return absl::InvalidArgumentError(fmt::format(
              "allowed_providers: no provider has the id or name '{}'", name.substr(0, 100)));
        }
        ids.push_back(provider->id);
      }
      edit.providers_ = std::make_shared<const std::vector<std::string>>(std::move(ids));
    }
    return edit;
  }

  void Apply(KeySpec* spec) const {
    if (const Json* name = call_.Find("name")) spec->name = name->get<std::string>();
    if (const Json* enabled = call_.Find("enabled")) spec->enabled = enabled->get<bool>();
    KeyLimits& limits = spec->limits;
    Set("rate_limit_rps", &limits.rps);
    Set("rate_limit_burst", &limits.burst);
    Set("rate_limit_tpm", &limits.tpm);
    if (call_.Find("allowed_providers") != nullptr) limits.providers = providers_;
    if (call_.Find("budget_usd") != nullptr) {
      limits.has_budget = budget_.has_value();
      limits.budget.amount = budget_.value_or(0);
    }
    if (period_) limits.budget.period = *period_;
  }

  bool changes_budget() const { return budget_.has_value(); }
  bool changes_period() const { return period_.has_value(); }

 private:
  /// Above every limit there is.
  static constexpr std::int64_t kMostLimit = 1'000'000'000;

  explicit Edit(const Call& call) : call_(call) {}

  template <typename T>
  void Set(const char* name, std::optional<T>* limit) const {
    const Json* const value = call_.Find(name);
    if (value == nullptr) return;
    limit->reset();
    if (!value->is_null()) *limit = value->get<T>();
  }

  const Call& call_;
  std::optional<std::int64_t> budget_;
  std::optional<BudgetPeriod> period_;
  std::shared_ptr<const std::vector<std::string>> providers_;
};

constexpr std::string_view kPeriodAlone = "budget_period needs budget_usd beside it";

Reply CreateKey(const Context& context, const Call& call) {
  const auto edit = Edit::Read(context, call);
  if (!edit.ok()) return StatusReply(edit.status());
  if (edit->changes_period() && !edit->changes_budget()) return Refusal(400, kPeriodAlone);
  KeySpec spec;
  edit->Apply(&spec);
  const auto created = context.keys->Create(spec);
  if (!created.ok()) return StatusReply(created.status());
  Json json = KeyJson(context, created->row);
  json["key"] = created->key.Reveal();
  Reply reply = JsonReply(json, 201);
  reply.headers.push_back({"Cache-Control", "no-store"});
  return reply;
}

/// The key of the path, or the refusal.
std::optional<Reply> FindKey(const Context& context, const Call& call, VirtualKey* out) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid virtual key id");
  const auto keys = context.keys->Snapshot();
  const VirtualKey* const key = keys->FindById(base::Lower(call.path[0]));
  if (key == nullptr) return Refusal(404, "virtual key not found");
  *out = *key;
  return std::nullopt;
}

std::optional<Reply> FindOwnKey(const Context& context, const Call& call, VirtualKey* out) {
  if (auto refusal = FindKey(context, call, out)) return refusal;
  if (!out->from_file) return std::nullopt;
  return OwnedByFile(context.file, fmt::format("virtual key '{}'", out->spec.name));
}

Reply GetKey(const Context& context, const Call& call) {
  VirtualKey key;
  if (auto refusal = FindKey(context, call, &key)) return *std::move(refusal);
  return JsonReply(KeyJson(context, key));
}

Reply UpdateKey(const Context& context, const Call& call) {
  VirtualKey key;
  if (auto refusal = FindOwnKey(context, call, &key)) return *std::move(refusal);
  const auto edit = Edit::Read(context, call);
  if (!edit.ok()) return StatusReply(edit.status());
  if (edit->changes_period() && !edit->changes_budget() && !key.spec.limits.has_budget) {
    return Refusal(400, kPeriodAlone);
  }
  const auto updated = context.keys->Update(key.id, [&](KeySpec* spec) { edit->Apply(spec); });
  return updated.ok() ? JsonReply(KeyJson(context, *updated)) : StatusReply(updated.status());
}

Reply DeleteKey(const Context& context, const Call& call) {
  VirtualKey key;
  if (auto refusal = FindOwnKey(context, call, &key)) return *std::move(refusal);
  const absl::Status deleted = context.keys->Delete(key.id);
  return deleted.ok() ? NoContent() : StatusReply(deleted);
}

std::vector<Field> KeyFields(bool create) {
  using T = FieldType;
  return {
      {"name", T::kString,
       "1 to 100 characters, unique; chat, arena, completions and admin are taken", create},
      {"enabled", T::kBool, "off: the key is not known from the next request on"},
      {"rate_limit_rps", T::kInteger,
       "requests a second, 0 to 10000; 0: not limited, null: the global limit", false, true},
      {"rate_limit_burst", T::kInteger, "requests at once, 1 to 10000; null: the global limit",
       false, true},
      {"rate_limit_tpm", T::kInteger, "tokens a minute, 1 to 100000000; null: the global limit",
       false, true},
      {"allowed_providers", T::kStrings,
       "ids or names of the providers that may serve it; null: every one", false, true},
      {"budget_usd", T::kNumber, "dollars it may spend in a period, 0 to 10000000; null: no budget",
       false, true},
      {"budget_period", T::kString,
       "day, week (from Monday) or month, in UTC; month when only a budget is given", false, true},
  };
}

}  // namespace

std::vector<Route> KeyRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/virtual-keys",
                    "List the virtual keys with what they used",
                    ListKeys,
                    {},
                    {},
                    false,
                    200,
                    "an array of keys"});
  routes.push_back({"POST",
                    "/api/virtual-keys",
                    "Make a virtual key",
                    CreateKey,
                    {},
                    KeyFields(true),
                    false,
                    201,
                    "the key; `key` is what clients present and is never shown again"});
  routes.push_back({"GET",
                    "/api/virtual-keys/{id}",
                    "Show a virtual key",
                    GetKey,
                    {},
                    {},
                    false,
                    200,
                    "the key"});
  routes.push_back({"PUT",
                    "/api/virtual-keys/{id}",
                    "Change what is given of a virtual key. What it has used stays",
                    UpdateKey,
                    {},
                    KeyFields(false),
                    false,
                    200,
                    "the key"});
  routes.push_back({"DELETE",
                    "/api/virtual-keys/{id}",
                    "Delete a virtual key. Rows of the request log keep its name",
                    DeleteKey,
                    {},
                    {},
                    false,
                    204,
                    ""});
  return routes;
}

}  // namespace hotel::server::api
