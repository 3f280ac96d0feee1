#include "libhotel/store/provider_rows.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_cipher.h"
#include "libhotel/store/read_rows.h"

namespace hotel::store {
namespace {

constexpr const char kSelectProvider[] =
    "SELECT id, name, routing_name, provider_type, base_url, encrypted_key, key_nonce, key_salt,"
    " enabled, fixed_models, ca_file, unix_socket, http2, encrypted_proxy, proxy_nonce, proxy_salt,"
    " max_in_flight, autodiscovery_enabled, created_at, updated_at FROM providers ";

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
  row.autodiscovery_enabled = statement.Bool(17);
  row.created_at = TimeAt(statement, 18);
  row.updated_at = TimeAt(statement, 19);
  return row;
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
      " proxy_salt, max_in_flight, autodiscovery_enabled, created_at, updated_at, id)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.name, row.routing_name, row.type, row.base_url, Part(row.key, &SealedKey::ciphertext),
      Part(row.key, &SealedKey::nonce), Part(row.key, &SealedKey::salt), row.enabled,
      row.fixed_models, row.ca_file, row.unix_socket, row.http2,
      Part(row.proxy, &SealedKey::ciphertext), Part(row.proxy, &SealedKey::nonce),
      Part(row.proxy, &SealedKey::salt), row.max_in_flight, row.autodiscovery_enabled, time, time,
      row.id);
}

absl::Status UpdateProvider(Connection& connection, const ProviderRow& row, WallTime now) {
  return connection.Run(
      "UPDATE providers SET name = ?, routing_name = ?, provider_type = ?, base_url = ?,"
      " encrypted_key = ?, key_nonce = ?, key_salt = ?, enabled = ?, fixed_models = ?,"
      " ca_file = ?, unix_socket = ?, http2 = ?, encrypted_proxy = ?, proxy_nonce = ?,"
      " proxy_salt = ?, max_in_flight = ?, autodiscovery_enabled = ?, updated_at = ? WHERE id = ?",
      row.name, row.routing_name, row.type, row.base_url, Part(row.key, &SealedKey::ciphertext),
      Part(row.key, &SealedKey::nonce), Part(row.key, &SealedKey::salt), row.enabled,
      row.fixed_models, row.ca_file, row.unix_socket, row.http2,
      Part(row.proxy, &SealedKey::ciphertext), Part(row.proxy, &SealedKey::nonce),
      Part(row.proxy, &SealedKey::salt), row.max_in_flight, row.autodiscovery_enabled,
      base::FormatTime(now), row.id);
}

absl::Status DeleteProvider(Connection& connection, std::string_view id) {
  return connection.Run("DELETE FROM providers WHERE id = ?", id);
}

}  // namespace hotel::store
