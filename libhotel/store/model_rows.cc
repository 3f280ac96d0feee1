#include "libhotel/store/model_rows.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/model_json.h"
#include "libhotel/store/read_rows.h"

namespace hotel::store {
namespace {

constexpr const char kSelect[] =
    "SELECT id, provider_id, model_id, enabled, disabled_manually, created_at, name, display_name,"
    " owned_by, context_length, max_output_tokens, input_price, output_price, cached_input_price,"
    " price_customized, details, last_seen_at, missing_scans, retired_at FROM models ";

std::optional<double> PriceAt(const Statement& statement, int column) {
  if (statement.IsNull(column)) return std::nullopt;
  return statement.Real(column);
}

Model ModelOf(const Statement& statement) {
  Model model;
  model.id = statement.Text(0);
  model.provider_id = statement.Text(1);
  model.model_id = statement.Text(2);
  model.enabled = statement.Bool(3);
  model.disabled_manually = statement.Bool(4);
  model.created_at = TimeAt(statement, 5);
  model.name = statement.Text(6);
  model.display_name = statement.Text(7);
  model.owned_by = statement.Text(8);
  model.context_length = statement.Integer(9);
  model.max_output_tokens = statement.Integer(10);
  model.prices.input = PriceAt(statement, 11);
  model.prices.output = PriceAt(statement, 12);
  model.prices.cached_input = PriceAt(statement, 13);
  model.prices.set_by_operator = statement.Bool(14);
  model.details = DecodeDetails(statement.Text(15));
  model.last_seen_at = OptionalTimeAt(statement, 16);
  model.missing_scans = static_cast<int>(statement.Integer(17));
  model.retired_at = OptionalTimeAt(statement, 18);
  return model;
}

}  // namespace

absl::StatusOr<std::vector<Model>> ReadModels(Connection& connection) {
  return ReadAll(connection.Query(std::string(kSelect) + "ORDER BY rowid"), &ModelOf);
}

absl::StatusOr<std::vector<Model>> ReadModelsOf(Connection& connection,
                                                std::string_view provider_id) {
  return ReadAll(connection.Query(std::string(kSelect) + "WHERE provider_id = ?", provider_id),
                 &ModelOf);
}

absl::StatusOr<std::optional<Model>> ReadModel(Connection& connection, std::string_view id) {
  return ReadOne(connection.Query(std::string(kSelect) + "WHERE id = ?", id), &ModelOf);
}

absl::Status InsertModel(Connection& connection, const Model& model, WallTime now) {
  const std::string time = base::FormatTime(now);
  return connection.Run(
      "INSERT INTO models (id, provider_id, model_id, enabled, name, display_name, owned_by,"
      " context_length, max_output_tokens, input_price, output_price, cached_input_price,"
      " price_customized, details, last_seen_at, created_at, updated_at)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      model.id, model.provider_id, model.model_id, model.enabled, model.name, model.display_name,
      model.owned_by, model.context_length, model.max_output_tokens, model.prices.input,
      model.prices.output, model.prices.cached_input, model.prices.set_by_operator,
      EncodeDetails(model.details), TimeText(model.last_seen_at), time, time);
}

absl::Status UpdateModel(Connection& connection, const Model& model, WallTime now) {
  return connection.Run(
      "UPDATE models SET enabled = ?, disabled_manually = ?, name = ?, display_name = ?,"
      " owned_by = ?, context_length = ?, max_output_tokens = ?, input_price = ?,"
      " output_price = ?, cached_input_price = ?, price_customized = ?, details = ?,"
      " last_seen_at = ?, missing_scans = ?, retired_at = ?, updated_at = ? WHERE id = ?",
      model.enabled, model.disabled_manually, model.name, model.display_name, model.owned_by,
      model.context_length, model.max_output_tokens, model.prices.input, model.prices.output,
      model.prices.cached_input, model.prices.set_by_operator, EncodeDetails(model.details),
      TimeText(model.last_seen_at), std::int64_t{model.missing_scans}, TimeText(model.retired_at),
      base::FormatTime(now), model.id);
}

absl::Status UpdateModelEnabled(Connection& connection, std::string_view id, bool enabled,
                                bool manually, WallTime now) {
  return connection.Run(
      "UPDATE models SET enabled = ?, disabled_manually = ?, missing_scans = 0, retired_at = NULL,"
      " updated_at = ? WHERE id = ?",
      enabled, !enabled && manually, base::FormatTime(now), id);
}

absl::Status DeleteModel(Connection& connection, std::string_view id) {
  return connection.Run("DELETE FROM models WHERE id = ?", id);
}

absl::StatusOr<std::map<std::string, bool>> ReadRoutable(Connection& connection,
                                                         const std::vector<std::string>& ids) {
  std::map<std::string, bool> routable;
  for (const std::string& id : ids) {
    absl::StatusOr<Statement> statement = connection.Query(
        "SELECT models.enabled AND providers.enabled FROM models"
        " JOIN providers ON providers.id = models.provider_id WHERE models.id = ?",
        id);
    if (!statement.ok()) return statement.status();
    absl::StatusOr<bool> found = statement->Step();
    if (!found.ok()) return found.status();
    if (*found) routable.emplace(id, statement->Bool(0));
  }
  return routable;
}

}  // namespace hotel::store
