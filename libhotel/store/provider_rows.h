// Table providers.
#ifndef HOTEL_STORE_PROVIDER_ROWS_H_
#define HOTEL_STORE_PROVIDER_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  bool autodiscovery_enabled = true;
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
absl::Status InsertProvider(Connection& connection, ProviderRow row, WallTime now);
/// Overwrites the row with that id.
absl::Status UpdateProvider(Connection& connection, ProviderRow row, WallTime now);
/// Its models go with it.
absl::Status DeleteProvider(Connection& connection, std::string_view id);

}  // namespace hotel::store

#endif  // HOTEL_STORE_PROVIDER_ROWS_H_
