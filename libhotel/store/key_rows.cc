#include "libhotel/store/key_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "libhotel/store/group_json.h"
#include "libhotel/store/key_secret.h"
#include "libhotel/store/read_rows.h"

namespace hotel::store {
namespace {

/// Days that are kept in the table; more than any period of a budget has.
constexpr std::int64_t kKeptDays = 62;

std::optional<int> IntAt(const Statement& statement, int column) {
  if (statement.IsNull(column)) return std::nullopt;
  return static_cast<int>(statement.Integer(column));
}

std::optional<std::int64_t> Wide(std::optional<int> value) {
  if (!value) return std::nullopt;
  return *value;
}

VirtualKey KeyAt(const Statement& statement) {
  VirtualKey key;
  key.id = statement.Text(0);
  key.spec.name = statement.Text(1);
  // One that does not read is nobody's digest: the key can not be used.
  key.digest = ParseDigest(statement.Text(2)).value_or(KeyDigest{});
  key.preview = statement.Text(3);
  key.spec.enabled = statement.Bool(4);
  key.from_file = statement.Bool(5);
  KeyLimits& limits = key.spec.limits;
  limits.rps = IntAt(statement, 6);
  limits.burst = IntAt(statement, 7);
  if (!statement.IsNull(8)) limits.tpm = statement.Integer(8);
  if (!statement.IsNull(9)) {
    // What does not read names nobody, so it denies everything.
    limits.providers = std::make_shared<const std::vector<std::string>>(
        DecodeIds(statement.Text(9)).value_or(std::vector<std::string>()));
  }
  limits.has_budget = !statement.IsNull(10);
  limits.budget.amount = statement.Integer(10);
  limits.budget.period = ParseBudgetPeriod(statement.Text(11)).value_or(BudgetPeriod::kMonth);
  key.created_at = TimeAt(statement, 12);
  key.updated_at = TimeAt(statement, 13);
  return key;
}

/// The columns of KeyLimits, as they are bound.
struct LimitColumns {
  explicit LimitColumns(const KeyLimits& limits)
      : rps(Wide(limits.rps)), burst(Wide(limits.burst)), tpm(limits.tpm) {
    if (limits.providers != nullptr) providers = EncodeIds(*limits.providers);
    if (!limits.has_budget) return;
    budget = limits.budget.amount;
    period = BudgetPeriodName(limits.budget.period);
  }
  std::optional<std::int64_t> rps;
  std::optional<std::int64_t> burst;
  std::optional<std::int64_t> tpm;
  std::optional<std::string> providers;
  std::optional<std::int64_t> budget;
  std::optional<std::string> period;
};

struct UsageRow {
  std::string id;
  KeyUsage usage;
};

UsageRow UsageAt(const Statement& statement) {
  UsageRow row;
  row.id = statement.Text(0);
  row.usage.requests = statement.Integer(1);
  row.usage.prompt = statement.Integer(2);
  row.usage.completion = statement.Integer(3);
  row.usage.cached = statement.Integer(4);
  row.usage.reasoning = statement.Integer(5);
  row.usage.cost = statement.Integer(6);
  row.usage.last_used_at = OptionalTimeAt(statement, 7);
  return row;
}

UsageRow DayAt(const Statement& statement) {
  UsageRow row;
  row.id = statement.Text(0);
  row.usage.days[statement.Integer(1)] = statement.Integer(2);
  return row;
}

}  // namespace

absl::StatusOr<std::vector<VirtualKey>> ReadKeyRows(Connection& connection) {
  return ReadAll(
      connection.Query("SELECT id, name, key_hash, key_preview, enabled, from_file,"
                       " rate_limit_rps, rate_limit_burst, rate_limit_tpm, allowed_providers,"
                       " budget, budget_period, created_at, updated_at"
                       " FROM virtual_keys ORDER BY created_at, name"),
      KeyAt);
}

absl::Status InsertKey(Connection& connection, const VirtualKey& key) {
  const LimitColumns limits(key.spec.limits);
  return connection.Run(
      "INSERT INTO virtual_keys (id, name, key_hash, key_preview, enabled, from_file,"
      " rate_limit_rps, rate_limit_burst, rate_limit_tpm, allowed_providers, budget,"
      " budget_period, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      key.id, key.spec.name, DigestText(key.digest), key.preview, key.spec.enabled, key.from_file,
      limits.rps, limits.burst, limits.tpm, limits.providers, limits.budget, limits.period,
      base::FormatTime(key.created_at), base::FormatTime(key.updated_at));
}

absl::Status UpdateKey(Connection& connection, const VirtualKey& key) {
  const LimitColumns limits(key.spec.limits);
  return connection.Run(
      "UPDATE virtual_keys SET name = ?, key_hash = ?, key_preview = ?, enabled = ?,"
      " from_file = ?, rate_limit_rps = ?, rate_limit_burst = ?, rate_limit_tpm = ?,"
      " allowed_providers = ?, budget = ?, budget_period = ?, updated_at = ? WHERE id = ?",
      key.spec.name, DigestText(key.digest), key.preview, key.spec.enabled, key.from_file,
      limits.rps, limits.burst, limits.tpm, limits.providers, limits.budget, limits.period,
      base::FormatTime(key.updated_at), key.id);
}

absl::Status DeleteKey(Connection& connection, std::string_view id) {
  return connection.Run("DELETE FROM virtual_keys WHERE id = ?", id);
}

absl::StatusOr<std::map<std::string, KeyUsage, std::less<>>> ReadKeyUsage(Connection& connection) {
  const auto totals = ReadAll(
      connection.Query("SELECT id, requests, tokens_prompt, tokens_completion,"
                       " tokens_prompt_cache_hit, tokens_completion_reasoning, cost, last_used_at"
                       " FROM virtual_keys"),
      UsageAt);
  if (!totals.ok()) return totals.status();
  const auto days =
      ReadAll(connection.Query("SELECT key_id, day, cost FROM virtual_key_days"), DayAt);
  if (!days.ok()) return days.status();
  std::map<std::string, KeyUsage, std::less<>> usage;
  for (const UsageRow& row : *totals) usage[row.id] = row.usage;
  for (const UsageRow& row : *days)
    usage[row.id].days.insert(row.usage.days.begin(), row.usage.days.end());
  return usage;
}

absl::Status AddKeyUsage(Connection& connection, const KeyCharge& charge) {
  const KeyUsage& used = charge.usage;
  // The last instant wins whatever the order of arrival; RFC 3339 in UTC sorts as text.
  absl::Status status = connection.Run(
      "UPDATE virtual_keys SET requests = requests + ?, tokens_prompt = tokens_prompt + ?,"
      " tokens_completion = tokens_completion + ?,"
      " tokens_prompt_cache_hit = tokens_prompt_cache_hit + ?,"
      " tokens_completion_reasoning = tokens_completion_reasoning + ?, cost = cost + ?,"
      " last_used_at = max(coalesce(last_used_at, ''), coalesce(?, last_used_at, ''))"
      " WHERE id = ?",
      used.requests, used.prompt, used.completion, used.cached, used.reasoning, used.cost,
      TimeText(used.last_used_at), charge.key_id);
  if (!status.ok() || used.days.empty()) return status;
  for (const auto& [day, cost] : used.days) {
    status = connection.Run(
        "INSERT INTO virtual_key_days (key_id, day, cost)"
        " SELECT id, ?, ? FROM virtual_keys WHERE id = ?"
        " ON CONFLICT (key_id, day) DO UPDATE SET cost = cost + excluded.cost",
        day, cost, charge.key_id);
    if (!status.ok()) return status;
  }
  return connection.Run("DELETE FROM virtual_key_days WHERE key_id = ? AND day < ?", charge.key_id,
                        used.days.rbegin()->first - kKeptDays);
}

}  // namespace hotel::store
