// Table models.
#ifndef HOTEL_STORE_MODEL_ROWS_H_
#define HOTEL_STORE_MODEL_ROWS_H_

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

namespace hotel::store {

/// Oldest first.
absl::StatusOr<std::vector<Model>> ReadModels(Connection& connection);
/// The models of one provider.
absl::StatusOr<std::vector<Model>> ReadModelsOf(Connection& connection,
                                                std::string_view provider_id);
/// nullopt when there is none.
absl::StatusOr<std::optional<Model>> ReadModel(Connection& connection, std::string_view id);
absl::Status InsertModel(Connection& connection, const Model& model, WallTime now);
/// Overwrites everything of the row with that id but whose it is, what it is called upstream and
/// since when it is there.
absl::Status UpdateModel(Connection& connection, const Model& model, WallTime now);
/// `manually`: it is an operator who switches it off. Listings begin anew to count.
absl::Status UpdateModelEnabled(Connection& connection, std::string_view id, bool enabled,
                                bool manually, WallTime now);
absl::Status DeleteModel(Connection& connection, std::string_view id);

/// Which of `ids` are models, and whether each is routable: it and its provider are enabled.
absl::StatusOr<std::map<std::string, bool>> ReadRoutable(Connection& connection,
                                                         const std::vector<std::string>& ids);

}  // namespace hotel::store

#endif  // HOTEL_STORE_MODEL_ROWS_H_
