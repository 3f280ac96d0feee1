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
#include "libhotel/store/table.h"

namespace hotel::store {
namespace {

/// What a provider says of a model beside its numbers, as JSON text.
template <typename T>
struct DetailsText {
  T& details;
};
template <typename T>
DetailsText(T&) -> DetailsText<T>;
absl::Status ReadCell(const Statement& row, int column, DetailsText<ModelDetails> text) {
  text.details = DecodeDetails(row.Text(column));
  return absl::OkStatus();
}
SqlValue CellOf(DetailsText<const ModelDetails> text) { return EncodeDetails(text.details); }

struct StoredModel {
  Model model;
  WallTime updated_at{};
};

struct ModelTable {
  using Row = StoredModel;
  static constexpr std::string_view kName = "models";
  template <typename R, typename Visit>
  static void Columns(R& row, Visit&& visit) {
    auto& model = row.model;
    visit("id", model.id, When::kOnce);
    visit("provider_id", model.provider_id, When::kOnce);
    visit("model_id", model.model_id, When::kOnce);
    visit("enabled", model.enabled, When::kAlways);
    visit("disabled_manually", model.disabled_manually, When::kAlways);
    visit("created_at", model.created_at, When::kOnce);
    visit("updated_at", row.updated_at, When::kAlways);
    visit("name", model.name, When::kAlways);
    visit("display_name", model.display_name, When::kAlways);
    visit("owned_by", model.owned_by, When::kAlways);
    visit("context_length", model.context_length, When::kAlways);
    visit("max_output_tokens", model.max_output_tokens, When::kAlways);
    visit("input_price", model.prices.input, When::kAlways);
    visit("output_price", model.prices.output, When::kAlways);
    visit("cached_input_price", model.prices.cached_input, When::kAlways);
    visit("price_customized", model.prices.set_by_operator, When::kAlways);
    visit("details", DetailsText{model.details}, When::kAlways);
    visit("last_seen_at", model.last_seen_at, When::kAlways);
    visit("missing_scans", model.missing_scans, When::kAlways);
    visit("retired_at", model.retired_at, When::kAlways);
  }
};

Model ModelOf(const Statement& statement) { return RowAt<ModelTable>(statement).model; }

}  // namespace

absl::StatusOr<std::vector<Model>> ReadModels(Connection& connection) {
  return ReadAll(connection.Query(SelectFrom<ModelTable>("ORDER BY rowid")), &ModelOf);
}

absl::StatusOr<std::vector<Model>> ReadModelsOf(Connection& connection,
                                                std::string_view provider_id) {
  return ReadAll(connection.Query(SelectFrom<ModelTable>("WHERE provider_id = ?"), provider_id),
                 &ModelOf);
}

absl::StatusOr<std::optional<Model>> ReadModel(Connection& connection, std::string_view id) {
  return ReadOne(connection.Query(SelectFrom<ModelTable>("WHERE id = ?"), id), &ModelOf);
}

absl::Status InsertModel(Connection& connection, const Model& model, WallTime now) {
  StoredModel row{model, now};
  row.model.created_at = now;
  return InsertRow<ModelTable>(connection, row);
}

absl::Status UpdateModel(Connection& connection, const Model& model, WallTime now) {
  return UpdateRow<ModelTable>(connection, {model, now});
}

absl::Status UpdateModelEnabled(Connection& connection, std::string_view id, bool enabled,
                                bool manually, WallTime now) {
  return connection.Run(
      "UPDATE models SET enabled = ?, disabled_manually = ?, missing_scans = 0, retired_at = NULL,"
      " updated_at = ? WHERE id = ?",
      enabled, !enabled && manually, base::FormatTime(now), id);
}

absl::Status DeleteModel(Connection& connection, std::string_view id) {
  return DeleteRow<ModelTable>(connection, id);
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
