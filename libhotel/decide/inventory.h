// What a provider's list of models means for the rows that are there (facts l).
#ifndef HOTEL_DECIDE_INVENTORY_H_
#define HOTEL_DECIDE_INVENTORY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "hotel/discovery.h"
#include "hotel/failover_group.h"
#include "hotel/types.h"

namespace hotel::decide {

/// Scans in a row that a model must be missing from before it is disabled.
inline constexpr int kMissingScans = 2;
/// A scan that lacks more models than this, and more than half of those there were, is suspect.
inline constexpr std::size_t kMassVanish = 5;
/// Every so many suspect scans in a row somebody should look.
inline constexpr int kSuspectScans = 3;

/// What is to be written.
struct InventoryPlan {
  std::vector<Model> added;    ///< without ids
  std::vector<Model> changed;  ///< rows as they are to be
  ModelChanges report;
  bool suspect = false;
};

/// Compares the rows of one provider with what it lists, each model once. A listed model is
/// enabled, unless an operator switched it off, and takes over what the listing says of it. A model
/// that is missing is counted when `may_disable`, and disabled at the second time; one that never
/// was in a listing is nobody's to miss.
InventoryPlan PlanInventory(const std::string& provider_id, const std::vector<Model>& rows,
                            const std::vector<ListedModel>& listing, bool may_disable,
                            WallTime now);

/// Whether a listing lacks something that it should be asked for again before that counts.
bool LacksKnownModels(const std::string& provider_id, const std::vector<Model>& models,
                      const std::vector<ListedModel>& listing);

/// Adds to `listing` what only `more` has.
void Unite(std::vector<ListedModel>* listing, std::vector<ListedModel> more);

/// Which of `models` are to be deleted: disabled by discovery before `before`, of one of these
/// providers; the longest retired first, at most `most`. Ids.
std::vector<std::string> PlanPruning(const std::vector<Model>& models,
                                     const std::vector<std::string>& provider_ids, WallTime before,
                                     std::size_t most);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_INVENTORY_H_
