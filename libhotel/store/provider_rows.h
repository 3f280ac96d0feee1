// Tables providers and models.
#ifndef HOTEL_STORE_PROVIDER_ROWS_H_
#define HOTEL_STORE_PROVIDER_ROWS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_cipher.h"

namespace hotel::store {

/// One row of providers.
struct ProviderRow {
  std::string id;
  std::string name;
  std::string routing_name;
  std::string type;
  std::string base_url;
  std::optional<SealedKey> key;  ///< nullopt = keyless
  bool enabled = true;
  bool fixed_models = false;
  std::string ca_file;
  std::string unix_socket;
  bool http2 = false;
  std::optional<SealedKey> proxy;  ///< its URL, which may hold a password; nullopt = none
  std::optional<std::int64_t> max_in_flight;
  WallTime created_at{};  ///< these two are set by InsertProvider and UpdateProvider
  WallTime updated_at{};
  friend bool operator==(const ProviderRow&, const ProviderRow&) = default;
};

/// Oldest first.
absl::StatusOr<std::vector<ProviderRow>> ReadProviders(Connection& connection);
/// nullopt when there is none.
absl::StatusOr<std::optional<ProviderRow>> ReadProvider(Connection& connection,
                                                        std::string_view id);
absl::StatusOr<std::optional<ProviderRow>> ReadProviderByRoutingName(Connection& connection,
                                                                     std::string_view routing_name);
absl::Status InsertProvider(Connection& connection, const ProviderRow& row, WallTime now);
/// Overwrites the row with that id.
absl::Status UpdateProvider(Connection& connection, const ProviderRow& row, WallTime now);
/// Its models go with it.
absl::Status DeleteProvider(Connection& connection, std::string_view id);

/// Oldest first.
absl::StatusOr<std::vector<Model>> ReadModels(Connection& connection);
/// The models of one provider.
absl::StatusOr<std::vector<Model>> ReadModelsOf(Connection& connection,
                                                std::string_view provider_id);
/// nullopt when there is none.
absl::StatusOr<std::optional<Model>> ReadModel(Connection& connection, std::string_view id);
absl::Status InsertModel(Connection& connection, const Model& model, WallTime now);
/// `manually`: it is an operator who switches it off.
absl::Status UpdateModelEnabled(Connection& connection, std::string_view id, bool enabled,
                                bool manually, WallTime now);
absl::Status DeleteModel(Connection& connection, std::string_view id);

/// Which of `ids` are models, and whether each is routable: it and its provider are enabled.
absl::StatusOr<std::map<std::string, bool>> ReadRoutable(Connection& connection,
                                                         const std::vector<std::string>& ids);

}  // namespace hotel::store

#endif  // HOTEL_STORE_PROVIDER_ROWS_H_
