#include "libhotel/store/provider_rows.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_cipher.h"

namespace hotel::store {
namespace {

constexpr const char kSelectProvider[] =
    "SELECT id, name, routing_name, provider_type, base_url, encrypted_key, key_nonce, key_salt,"
    " enabled, fixed_models, ca_file, unix_socket, http2, encrypted_proxy, proxy_nonce, proxy_salt,"
    " max_in_flight, created_at, updated_at FROM providers ";
constexpr const char kSelectModel[] =
    "SELECT id, provider_id, model_id, enabled, disabled_manually, created_at FROM models ";

// A time that does not read, in a file that was edited by hand, is no reason to refuse the file.
WallTime TimeAt(const Statement& statement, int column) {
  return base::ParseTime(statement.Text(column)).value_or(WallTime{});
}

// From three columns that are null together.
std::optional<SealedKey> SealedAt(const Statement& statement, int column) {
  if (statement.IsNull(column)) return std::nullopt;
  return SealedKey{statement.Bytes(column), statement.Bytes(column + 1),
                   statement.Bytes(column + 2)};
}

ProviderRow ProviderOf(const Statement& statement) {
  ProviderRow row;
  row.id = statement.Text(0);
  row.name = statement.Text(1);
  row.routing_name = statement.Text(2);
  row.type = statement.Text(3);
  row.base_url = statement.Text(4);
  row.key = SealedAt(statement, 5);
  row.enabled = statement.Bool(8);
  row.fixed_models = statement.Bool(9);
  row.ca_file = statement.Text(10);
  row.unix_socket = statement.Text(11);
  row.http2 = statement.Bool(12);
  row.proxy = SealedAt(statement, 13);
  if (!statement.IsNull(16)) row.max_in_flight = statement.Integer(16);
  row.created_at = TimeAt(statement, 17);
  row.updated_at = TimeAt(statement, 18);
  return row;
}

Model ModelOf(const Statement& statement) {
  return Model{statement.Text(0), statement.Text(1), statement.Text(2),
               statement.Bool(3), statement.Bool(4), TimeAt(statement, 5)};
}

template <typename T>
absl::StatusOr<std::vector<T>> ReadAll(absl::StatusOr<Statement> statement,
                                       T (*row_of)(const Statement&)) {
  if (!statement.ok()) return statement.status();
  std::vector<T> rows;
  for (;;) {
    absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    rows.push_back(row_of(*statement));
  }
}

template <typename T>
absl::StatusOr<std::optional<T>> ReadOne(absl::StatusOr<Statement> statement,
                                         T (*row_of)(const Statement&)) {
  absl::StatusOr<std::vector<T>> rows = ReadAll(std::move(statement), row_of);
  if (!rows.ok()) return rows.status();
  return rows->empty() ? std::optional<T>() : std::optional<T>(std::move(rows->front()));
}

std::optional<BlobView> Part(const std::optional<SealedKey>& sealed, std::string SealedKey::*part) {
  if (!sealed.has_value()) return std::nullopt;
  return BlobView{(*sealed).*part};
}

}  // namespace

absl::StatusOr<std::vector<ProviderRow>> ReadProviders(Connection& connection) {
  return ReadAll(connection.Query(std::string(kSelectProvider) + "ORDER BY rowid"), &ProviderOf);
}

absl::StatusOr<std::optional<ProviderRow>> ReadProvider(Connection& connection,
                                                        std::string_view id) {
  return ReadOne(connection.Query(std::string(kSelectProvider) + "WHERE id = ?", id), &ProviderOf);
}

absl::StatusOr<std::optional<ProviderRow>> ReadProviderByRoutingName(
    Connection& connection, std::string_view routing_name) {
  return ReadOne(
      connection.Query(std::string(kSelectProvider) + "WHERE routing_name = ?", routing_name),
      &ProviderOf);
}

absl::Status InsertProvider(Connection& connection, const ProviderRow& row, WallTime now) {
  const std::string time = base::FormatTime(now);
  return connection.Run(
      "INSERT INTO providers (name, routing_name, provider_type, base_url, encrypted_key, "
      "key_nonce,"
      " key_salt, enabled, fixed_models, ca_file, unix_socket, http2, encrypted_proxy, proxy_nonce,"
      " proxy_salt, max_in_flight, created_at, updated_at, id)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.name, row.routing_name, row.type, row.base_url, Part(row.key, &SealedKey::ciphertext),
      Part(row.key, &SealedKey::nonce), Part(row.key, &SealedKey::salt), row.enabled,
      row.fixed_models, row.ca_file, row.unix_socket, row.http2,
      Part(row.proxy, &SealedKey::ciphertext), Part(row.proxy, &SealedKey::nonce),
      Part(row.proxy, &SealedKey::salt), row.max_in_flight, time, time, row.id);
}

absl::Status UpdateProvider(Connection& connection, const ProviderRow& row, WallTime now) {
  return connection.Run(
      "UPDATE providers SET name = ?, routing_name = ?, provider_type = ?, base_url = ?,"
      " encrypted_key = ?, key_nonce = ?, key_salt = ?, enabled = ?, fixed_models = ?,"
      " ca_file = ?, unix_socket = ?, http2 = ?, encrypted_proxy = ?, proxy_nonce = ?,"
      " proxy_salt = ?, max_in_flight = ?, updated_at = ? WHERE id = ?",
      row.name, row.routing_name, row.type, row.base_url, Part(row.key, &SealedKey::ciphertext),
      Part(row.key, &SealedKey::nonce), Part(row.key, &SealedKey::salt), row.enabled,
      row.fixed_models, row.ca_file, row.unix_socket, row.http2,
      Part(row.proxy, &SealedKey::ciphertext), Part(row.proxy, &SealedKey::nonce),
      Part(row.proxy, &SealedKey::salt), row.max_in_flight, base::FormatTime(now), row.id);
}

absl::Status DeleteProvider(Connection& connection, std::string_view id) {
  return connection.Run("DELETE FROM providers WHERE id = ?", id);
}

absl::StatusOr<std::vector<Model>> ReadModels(Connection& connection) {
  return ReadAll(connection.Query(std::string(kSelectModel) + "ORDER BY rowid"), &ModelOf);
}

absl::StatusOr<std::vector<Model>> ReadModelsOf(Connection& connection,
                                                std::string_view provider_id) {
  return ReadAll(connection.Query(std::string(kSelectModel) + "WHERE provider_id = ?", provider_id),
                 &ModelOf);
}

absl::StatusOr<std::optional<Model>> ReadModel(Connection& connection, std::string_view id) {
  return ReadOne(connection.Query(std::string(kSelectModel) + "WHERE id = ?", id), &ModelOf);
}

absl::Status InsertModel(Connection& connection, const Model& model, WallTime now) {
  const std::string time = base::FormatTime(now);
  return connection.Run(
      "INSERT INTO models (id, provider_id, model_id, enabled, created_at, updated_at)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      model.id, model.provider_id, model.model_id, model.enabled, time, time);
}

absl::Status UpdateModelEnabled(Connection& connection, std::string_view id, bool enabled,
                                bool manually, WallTime now) {
  return connection.Run(
      "UPDATE models SET enabled = ?, disabled_manually = ?, updated_at = ? WHERE id = ?", enabled,
      !enabled && manually, base::FormatTime(now), id);
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
