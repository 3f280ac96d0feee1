#include "libhotel/store/log_query.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/log_store.h"
#include "hotel/types.h"

#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {
namespace {

constexpr std::string_view kColumns =
    "r.seq, r.request_id, r.model_id, r.resolved_model_id, r.provider_id, r.provider_name,"
    " r.virtual_key_name, r.endpoint_type, r.streaming, r.status_code, r.error_kind,"
    " r.error_message, r.failover_attempt, r.duration_ms, r.ttft_ms, r.tokens_prompt,"
    " r.tokens_completion, r.tokens_completion_reasoning, r.tokens_prompt_cache_hit,"
    " r.tokens_estimated, r.attempts, r.created_at";

WallTime TimeAt(const Statement& statement, int column) {
  return WallTime(std::chrono::milliseconds(statement.Integer(column)));
}

LogEntry EntryOf(const Statement& statement) {
  LogEntry entry;
  entry.seq = statement.Integer(0);
  entry.request_id = statement.Text(1);
  entry.model_id = statement.Text(2);
  entry.resolved_model_id = statement.Text(3);
  entry.provider_id = statement.Text(4);
  entry.provider_name = statement.Text(5);
  entry.key_name = statement.Text(6);
  entry.endpoint = statement.Text(7);
  entry.streaming = statement.Bool(8);
  entry.status = static_cast<int>(statement.Integer(9));
  entry.error_kind = statement.Text(10);
  entry.error_message = statement.Text(11);
  entry.failover_attempt = static_cast<int>(statement.Integer(12));
  entry.duration_ms = statement.Integer(13);
  if (!statement.IsNull(14)) entry.ttft_ms = statement.Integer(14);
  if (!statement.IsNull(15)) {
    entry.usage = TokenUsage{statement.Integer(15), statement.Integer(16), statement.Integer(18),
                             statement.Integer(17), statement.Bool(19)};
  }
  entry.attempts = statement.Text(20);
  entry.created_at = TimeAt(statement, 21);
  return entry;
}

absl::StatusOr<std::vector<LogEntry>> ReadEntries(absl::StatusOr<Statement> statement) {
  if (!statement.ok()) return statement.status();
  std::vector<LogEntry> entries;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return entries;
    entries.push_back(EntryOf(*statement));
  }
}

/// One filter: a condition on a row that an index answers.
struct Condition {
  std::string lookup;   ///< the condition, on `r` or on `a`
  std::string compare;  ///< the same in a form that leaves the index out of consideration
  std::vector<SqlValue> args;
  bool of_attempt = false;  ///< `a` is an attempt of the row
};

/// The filters that are set, the ones that tell more rows apart first.
std::vector<Condition> ConditionsOf(const LogFilter& filter) {
  std::vector<Condition> conditions;
  Condition attempt;
  attempt.of_attempt = true;
  if (!filter.attempt_provider_id.empty()) {
    attempt.lookup = "a.provider_id = ?";
    attempt.args.emplace_back(filter.attempt_provider_id);
  }
  if (filter.attempt_status) {
    attempt.lookup += attempt.lookup.empty() ? "a.status = ?" : " AND a.status = ?";
    attempt.args.emplace_back(std::int64_t{*filter.attempt_status});
  }
  if (!attempt.lookup.empty()) {
    attempt.compare =
        fmt::format("EXISTS (SELECT 1 FROM request_attempts AS a WHERE a.log_seq = r.seq AND +{})",
                    attempt.lookup);
    conditions.push_back(std::move(attempt));
  }
  const auto add = [&conditions](std::string_view expression, SqlValue value) {
    // A plus in front keeps an index out of consideration.
    conditions.push_back({fmt::format("{} = ?", expression),
                          fmt::format("+({}) = ?", expression),
                          {std::move(value)}});
  };
  if (!filter.model_id.empty()) add("r.model_id", filter.model_id);
  if (!filter.provider_id.empty()) add("r.provider_id", filter.provider_id);
  if (filter.status) add("r.status_code", std::int64_t{*filter.status});
  if (!filter.key_name.empty()) add("r.virtual_key_name", filter.key_name);
  if (filter.status_class) add("r.status_code / 100", std::int64_t{*filter.status_class});
  if (!filter.endpoint.empty()) add("r.endpoint_type", filter.endpoint);
  return conditions;
}

/// `SELECT <instant>, <number> FROM ... WHERE ...` for the rows a filter lets pass, each once.
class Selection {
 public:
  /// Looks rows up by the condition `driver` and compares the others.
  Selection(const LogFilter& filter, const std::vector<Condition>& conditions, std::size_t driver)
      : by_attempt_(driver < conditions.size() && conditions[driver].of_attempt) {
    if (driver < conditions.size()) Add(conditions[driver].lookup, conditions[driver].args);
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      if (i == driver) continue;
      Add(conditions[i].compare, conditions[i].args);
      reads_rows_ = true;
    }
    if (filter.from) Time(">=", *filter.from);
    if (filter.to) Time("<", *filter.to);
  }

  void Behind(const LogEntry& entry) {
    const std::int64_t at = entry.created_at.time_since_epoch().count();
    Add(fmt::format("{0} <= ? AND ({0} < ? OR {1} < ?)", Instant(), Number()), {at, at, entry.seq});
  }

  std::string Sql() const {
    std::string sql;
    if (!by_attempt_) {
      sql = "SELECT r.created_at AS at, r.seq AS number FROM request_logs AS r";
    } else {
      // Two attempts of one request may match.
      sql = "SELECT DISTINCT a.created_at AS at, a.log_seq AS number FROM request_attempts AS a";
      // In this order, whatever the planner thinks of it.
      if (reads_rows_) sql += " CROSS JOIN request_logs AS r ON r.seq = a.log_seq";
    }
    if (!conditions_.empty()) sql += " WHERE " + conditions_;
    return sql;
  }

  std::string Order(LogOrder order) const {
    const char* const way = order == LogOrder::kNewestFirst ? "DESC" : "ASC";
    return fmt::format(" ORDER BY {} {}, {} {}", Instant(), way, Number(), way);
  }

  std::vector<SqlValue> Args(std::initializer_list<std::int64_t> more) const {
    std::vector<SqlValue> args = args_;
    for (const std::int64_t value : more) args.emplace_back(value);
    return args;
  }

 private:
  std::string_view Instant() const { return by_attempt_ ? "a.created_at" : "r.created_at"; }
  std::string_view Number() const { return by_attempt_ ? "a.log_seq" : "r.seq"; }

  void Add(std::string_view condition, const std::vector<SqlValue>& args) {
    if (!conditions_.empty()) conditions_ += " AND ";
    conditions_ += condition;
    args_.insert(args_.end(), args.begin(), args.end());
  }
  void Time(std::string_view comparison, WallTime time) {
    Add(fmt::format("{} {} ?", Instant(), comparison),
        {std::int64_t{time.time_since_epoch().count()}});
  }

  const bool by_attempt_;
  bool reads_rows_ = false;
  std::string conditions_;
  std::vector<SqlValue> args_;
};

absl::StatusOr<std::int64_t> Count(Connection& connection, const Selection& selection,
                                   std::int64_t most) {
  absl::StatusOr<Statement> statement = connection.QueryList(
      fmt::format("SELECT count(*) FROM ({} LIMIT ?)", selection.Sql()), selection.Args({most}));
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return statement->Integer(0);
}

/// How a filter is answered.
struct Plan {
  std::vector<Condition> conditions;
  std::size_t driver = 0;  ///< the one whose index is used
};

/// Of several conditions the one that the fewest rows fulfil is worth looking up. The database
/// keeps no such numbers, so a few entries of each index are counted.
absl::StatusOr<Plan> MakePlan(Connection& connection, const LogFilter& filter) {
  constexpr std::int64_t kEnough = 10000;
  Plan plan{ConditionsOf(filter), 0};
  if (plan.conditions.size() < 2) return plan;
  std::int64_t fewest = kEnough;
  for (std::size_t i = 0; i < plan.conditions.size() && fewest > 0; ++i) {
    absl::StatusOr<std::int64_t> count =
        Count(connection, Selection(filter, {plan.conditions[i]}, 0), fewest);
    if (!count.ok()) return count.status();
    if (*count < fewest) plan.driver = i;
    fewest = std::min(fewest, *count);
  }
  return plan;
}

/// How many of the newest `most` rows of the plan's driver fulfil the other conditions as well.
absl::StatusOr<std::int64_t> CountAmong(Connection& connection, const LogFilter& filter,
                                        const Plan& plan, std::int64_t most) {
  const Selection driver(filter, {plan.conditions[plan.driver]}, 0);
  std::string sql = fmt::format(
      "SELECT count(*) FROM ({}{} LIMIT ?) AS d CROSS JOIN request_logs AS r ON r.seq = d.number",
      driver.Sql(), driver.Order(LogOrder::kNewestFirst));
  std::vector<SqlValue> args = driver.Args({most});
  const char* joint = " WHERE ";
  for (std::size_t i = 0; i < plan.conditions.size(); ++i) {
    if (i == plan.driver) continue;
    sql += std::exchange(joint, " AND ") + plan.conditions[i].compare;
    args.insert(args.end(), plan.conditions[i].args.begin(), plan.conditions[i].args.end());
  }
  absl::StatusOr<Statement> statement = connection.QueryList(sql, args);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return statement->Integer(0);
}

}  // namespace

absl::StatusOr<std::vector<LogEntry>> ReadLog(Connection& connection, const LogFilter& filter,
                                              const LogStart& start, std::size_t limit,
                                              LogOrder order) {
  absl::StatusOr<Plan> plan = MakePlan(connection, filter);
  if (!plan.ok()) return plan.status();
  Selection selection(filter, plan->conditions, plan->driver);
  if (start.behind != nullptr) selection.Behind(*start.behind);
  // Rows are fetched for what is shown, not for what is skipped.
  const char* const way = order == LogOrder::kNewestFirst ? "DESC" : "ASC";
  const std::string sql = fmt::format(
      "SELECT {} FROM ({}{} LIMIT ? OFFSET ?) AS page CROSS JOIN request_logs AS r"
      " ON r.seq = page.number ORDER BY page.at {}, page.number {}",
      kColumns, selection.Sql(), selection.Order(order), way, way);
  return ReadEntries(connection.QueryList(
      sql,
      selection.Args({static_cast<std::int64_t>(limit), static_cast<std::int64_t>(start.offset)})));
}

absl::StatusOr<LogCount> CountLog(Connection& connection, const LogFilter& filter) {
  absl::StatusOr<Plan> plan = MakePlan(connection, filter);
  if (!plan.ok()) return plan.status();
  const bool combined = plan->conditions.size() > 1;
  const std::int64_t most = combined ? LogReader::kMostExamined : LogReader::kMostCounted;
  // What an index alone tells.
  std::vector<Condition> driver;
  if (!plan->conditions.empty()) driver.push_back(plan->conditions[plan->driver]);
  absl::StatusOr<std::int64_t> rows = Count(connection, Selection(filter, driver, 0), most + 1);
  if (!rows.ok()) return rows.status();
  LogCount count{std::min(*rows, most), *rows <= most};
  if (!combined) return count;
  absl::StatusOr<std::int64_t> matching = CountAmong(connection, filter, *plan, most);
  if (!matching.ok()) return matching.status();
  count.rows = *matching;
  return count;
}

bool IsEmpty(const LogFilter& filter) {
  return filter.model_id.empty() && filter.provider_id.empty() && filter.key_name.empty() &&
         filter.endpoint.empty() && !filter.status && !filter.status_class && !filter.from &&
         !filter.to && filter.attempt_provider_id.empty() && !filter.attempt_status;
}

absl::StatusOr<std::optional<LogEntry>> FindLogEntry(Connection& connection,
                                                     std::string_view request_id) {
  absl::StatusOr<std::vector<LogEntry>> entries = ReadEntries(
      connection.Query(fmt::format("SELECT {} FROM request_logs AS r WHERE r.request_id = ?"
                                   " ORDER BY r.seq DESC LIMIT 1",
                                   kColumns),
                       request_id));
  if (!entries.ok()) return entries.status();
  if (entries->empty()) return std::optional<LogEntry>();
  return std::optional<LogEntry>(std::move(entries->front()));
}

absl::StatusOr<std::vector<UsageTotal>> ReadTotals(Connection& connection, LogReader::Scope scope) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT name, requests, tokens, counted_from, last_used_at FROM request_totals"
      " WHERE scope = ? ORDER BY name",
      scope == LogReader::Scope::kModel ? "model" : "provider");
  if (!statement.ok()) return statement.status();
  std::vector<UsageTotal> totals;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return totals;
    totals.push_back({statement->Text(0), statement->Integer(1), statement->Integer(2),
                      TimeAt(*statement, 3), TimeAt(*statement, 4)});
  }
}

absl::StatusOr<std::vector<UsageSums>> ReadSums(Connection& connection, WallTime from) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT provider_id, sum(requests), sum(failed), sum(tokens_prompt), sum(tokens_completion),"
      " sum(duration_ms) FROM request_minutes WHERE minute >= ?"
      " GROUP BY provider_id ORDER BY provider_id",
      std::int64_t{std::chrono::floor<std::chrono::minutes>(from).time_since_epoch().count()});
  if (!statement.ok()) return statement.status();
  std::vector<UsageSums> all;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return all;
    all.push_back({statement->Text(0), statement->Integer(1), statement->Integer(2),
                   statement->Integer(3), statement->Integer(4), statement->Integer(5)});
  }
}

absl::StatusOr<std::vector<UsagePoint>> ReadSeries(Connection& connection, WallTime from,
                                                   std::chrono::minutes step) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT minute - minute % ? AS at, sum(requests), sum(failed), sum(tokens_prompt),"
      " sum(tokens_completion), sum(duration_ms) FROM request_minutes WHERE minute >= ?"
      " GROUP BY at ORDER BY at",
      std::int64_t{step.count()},
      std::int64_t{std::chrono::floor<std::chrono::minutes>(from).time_since_epoch().count()});
  if (!statement.ok()) return statement.status();
  std::vector<UsagePoint> points;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return points;
    points.push_back({WallTime(std::chrono::minutes(statement->Integer(0))),
                      {"", statement->Integer(1), statement->Integer(2), statement->Integer(3),
                       statement->Integer(4), statement->Integer(5)}});
  }
}

}  // namespace hotel::store
