#include "libhotel/store/provider_rows.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_cipher.h"
#include "libhotel/store/read_rows.h"
#include "libhotel/store/table.h"

namespace hotel::store {
namespace {

/// One of the three columns of a sealed secret, which are null together.
template <typename T>
struct SealedPart {
  T& secret;
  std::string SealedKey::*part;
};
template <typename T>
SealedPart(T&, std::string SealedKey::*) -> SealedPart<T>;
absl::Status ReadCell(const Statement& row, int column, SealedPart<std::optional<SealedKey>> cell) {
  if (row.IsNull(column)) return absl::OkStatus();
  if (!cell.secret.has_value()) cell.secret.emplace();
  (*cell.secret).*cell.part = row.Bytes(column);
  return absl::OkStatus();
}
SqlValue CellOf(SealedPart<const std::optional<SealedKey>> cell) {
  if (!cell.secret.has_value()) return nullptr;
  return Blob{(*cell.secret).*cell.part};
}

struct ProviderTable {
  using Row = ProviderRow;
  static constexpr std::string_view kName = "providers";
  template <typename R, typename Visit>
  static void Columns(R& row, Visit&& visit) {
    visit("id", row.id, When::kOnce);
    visit("name", row.name, When::kAlways);
    visit("routing_name", row.routing_name, When::kAlways);
    visit("provider_type", row.type, When::kAlways);
    visit("base_url", row.base_url, When::kAlways);
    visit("encrypted_key", SealedPart{row.key, &SealedKey::ciphertext}, When::kAlways);
    visit("key_nonce", SealedPart{row.key, &SealedKey::nonce}, When::kAlways);
    visit("key_salt", SealedPart{row.key, &SealedKey::salt}, When::kAlways);
    visit("enabled", row.enabled, When::kAlways);
    visit("fixed_models", row.fixed_models, When::kAlways);
    visit("ca_file", row.ca_file, When::kAlways);
    visit("unix_socket", row.unix_socket, When::kAlways);
    visit("http2", row.http2, When::kAlways);
    visit("encrypted_proxy", SealedPart{row.proxy, &SealedKey::ciphertext}, When::kAlways);
    visit("proxy_nonce", SealedPart{row.proxy, &SealedKey::nonce}, When::kAlways);
    visit("proxy_salt", SealedPart{row.proxy, &SealedKey::salt}, When::kAlways);
    visit("max_in_flight", row.max_in_flight, When::kAlways);
    visit("autodiscovery_enabled", row.autodiscovery_enabled, When::kAlways);
    visit("created_at", row.created_at, When::kOnce);
    visit("updated_at", row.updated_at, When::kAlways);
  }
};

}  // namespace

absl::StatusOr<std::vector<ProviderRow>> ReadProviders(Connection& connection) {
  return ReadAll(connection.Query(SelectFrom<ProviderTable>("ORDER BY rowid")),
                 &RowAt<ProviderTable>);
}

absl::StatusOr<std::optional<ProviderRow>> ReadProvider(Connection& connection,
                                                        std::string_view id) {
  return ReadOne(connection.Query(SelectFrom<ProviderTable>("WHERE id = ?"), id),
                 &RowAt<ProviderTable>);
}

absl::StatusOr<std::optional<ProviderRow>> ReadProviderByRoutingName(
    Connection& connection, std::string_view routing_name) {
  return ReadOne(
      connection.Query(SelectFrom<ProviderTable>("WHERE routing_name = ?"), routing_name),
      &RowAt<ProviderTable>);
}

absl::Status InsertProvider(Connection& connection, ProviderRow row, WallTime now) {
  row.created_at = row.updated_at = now;
  return InsertRow<ProviderTable>(connection, row);
}

absl::Status UpdateProvider(Connection& connection, ProviderRow row, WallTime now) {
  row.updated_at = now;
  return UpdateRow<ProviderTable>(connection, row);
}

absl::Status DeleteProvider(Connection& connection, std::string_view id) {
  return DeleteRow<ProviderTable>(connection, id);
}

}  // namespace hotel::store
