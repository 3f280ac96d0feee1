// The models of providers as they list them themselves: who was asked when, what changed.
//
// A provider with a fixed list is never asked. One that was read once and cannot be read now keeps
// its models; they are stale and left out of lists and routes until it answers again (R85-R90).
#ifndef HOTEL_DISCOVERY_H_
#define HOTEL_DISCOVERY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// What is known of a provider's list of models.
enum class DiscoveryState {
  kConfigured,      ///< nobody asks: it has a fixed list, is switched off, or is left alone
  kStarting,        ///< to be asked, no answer yet
  kFresh,           ///< the last listing was read
  kStale,           ///< the last listing failed, an earlier one was read (R85)
  kNeverSucceeded,  ///< every listing so far failed (R90)
};
/// "configured", "starting", "fresh", "stale", "never_succeeded". Static storage.
const char* DiscoveryStateName(DiscoveryState state) noexcept;

/// One provider as discovery sees it.
struct ProviderDiscovery {
  std::string provider_id;
  DiscoveryState state = DiscoveryState::kConfigured;
  /// Its models are hidden from lists and skipped by groups and virtual models (R86, R88). Not
  /// every stale provider: none is while all fail (R89).
  bool left_out = false;
  bool running = false;  ///< it is being asked
  std::optional<WallTime> last_checked_at;
  std::optional<WallTime> last_success_at;
  /// Why the last listing failed; "" when it did not. Up to 300 bytes, credentials masked.
  std::string last_error;
  std::size_t model_count = 0;          ///< its rows
  std::size_t enabled_model_count = 0;  ///< those of them that are enabled
  int suspect_scans = 0;                ///< listings in a row that lacked too much to be believed
};

/// A model as its provider lists it; what it does not say is empty, zero or without a value.
struct ListedModel {
  std::string model_id;
  std::string name;
  std::string owned_by;
  std::int64_t context_length = 0;
  std::int64_t max_output_tokens = 0;
  ModelPrices prices;
  ModelDetails details;
};

/// One changed field of a model.
struct FieldChange {
  /// Nothing, tokens, dollars, text.
  using Value = std::variant<std::monostate, std::int64_t, double, std::string>;
  std::string field;
  Value before;
  Value after;
};

struct ModelUpdate {
  std::string model_id;
  std::vector<FieldChange> changes;
};

/// What a listing changed, by model id, in the order of the listing.
struct ModelChanges {
  std::vector<std::string> added;
  std::vector<std::string> reenabled;
  std::vector<std::string> disabled;
  std::vector<ModelUpdate> updated;
  bool empty() const noexcept {
    return added.empty() && reenabled.empty() && disabled.empty() && updated.empty();
  }
};

/// What a sync did to groups (seed 000, "Auto-Generation", API reference of the sync).
struct GroupChanges {
  struct Deleted {
    std::string display_model;
    std::string reason;
    std::size_t provider_count = 0;
    std::vector<std::string> provider_names;
  };
  /// Members of an auto group that came and went; all of a new group's have come.
  struct Updated {
    std::string display_model;
    std::vector<std::string> removed_model_ids;
    std::vector<std::string> added_model_ids;
  };
  /// Switched off below two routable members, or on again at two.
  struct Switched {
    std::string display_model;
    std::size_t effective_count = 0;
    std::string reason;
  };
  /// Entries whose model row is gone.
  struct Purged {
    std::string group_display_model;
    std::vector<std::string> pruned_model_ids;  ///< UUIDs: nobody knows the models any more
  };
  std::vector<Deleted> deleted;
  std::vector<Updated> updated;
  std::vector<Switched> disabled;
  std::vector<Switched> enabled;
  std::vector<Purged> purged;
  std::vector<std::string> errors;
  bool empty() const noexcept {
    return deleted.empty() && updated.empty() && disabled.empty() && enabled.empty() &&
           purged.empty() && errors.empty();
  }
};

/// The end of one scan.
struct DiscoveryResult {
  std::string provider_id;
  std::string provider_name;
  /// Why the provider could not be read or the result not be stored: a sentence, credentials
  /// masked.
  absl::Status status;
  bool suspect = false;          ///< too much was missing; nothing was counted as missing
  std::size_t models_found = 0;  ///< in the listing
  ModelChanges models;
  GroupChanges groups;
};

/// What is kept of the scans of one provider.
struct ProviderScan {
  std::string provider_id;
  WallTime checked_at{};
  std::optional<WallTime> succeeded_at;
  std::string last_error;  ///< "" when the last one succeeded
  bool stale = false;      ///< see ProviderDiscovery::left_out
  int suspect_scans = 0;   ///< in a row

  friend bool operator==(const ProviderScan& a, const ProviderScan& b) {
    return a.provider_id == b.provider_id && a.checked_at == b.checked_at &&
           a.succeeded_at == b.succeeded_at && a.last_error == b.last_error && a.stale == b.stale &&
           a.suspect_scans == b.suspect_scans;
  }
};

/// What discovery writes. Threading, durability and errors as in FailoverGroupStore.
class InventoryStore {
 public:
  virtual ~InventoryStore() = default;

  /// Brings the rows of a provider in line with what it lists, in one transaction with the groups:
  /// see DiscoveryResult. `may_disable`: models that are missing are counted, and disabled when
  /// they are missing for the second time. `scan` is what is known of the scans before it;
  /// it is brought up to date and kept. NotFound for an unknown provider, FailedPrecondition for
  /// one with a fixed list.
  virtual absl::StatusOr<DiscoveryResult> ApplyListing(const std::vector<ListedModel>& listing,
                                                       bool may_disable, ProviderScan* scan) = 0;
  /// Deletes models that discovery disabled before `before`, of these providers only, the longest
  /// retired first, at most `most`; never what an operator disabled. Returns how many, and what
  /// became of groups.
  struct Pruned {
    std::size_t models = 0;
    GroupChanges groups;
  };
  virtual absl::StatusOr<Pruned> PruneModels(const std::vector<std::string>& provider_ids,
                                             WallTime before, std::size_t most) = 0;
  /// Brings all groups in line with the models (seed 000, "Auto-Generation").
  virtual absl::StatusOr<GroupChanges> SyncGroups() = 0;

  virtual absl::StatusOr<std::vector<ProviderScan>> ReadScans() = 0;
  /// Writes the rows; those of providers that are gone are left out.
  virtual absl::Status WriteScans(const std::vector<ProviderScan>& scans) = 0;
};

/// What routing asks of discovery. Thread-safe, never blocks.
class Inventory {
 public:
  virtual ~Inventory() = default;
  /// Whether this provider's models are left out of lists and routes; never of a direct request
  /// (R87).
  virtual bool IsLeftOut(std::string_view provider_id) const noexcept = 0;
  /// A request named a model that no row knows: its provider is asked again, at most once a minute
  /// (R84). The request does not wait for that.
  virtual void NoteUnknownModel(std::string_view provider_id) noexcept = 0;
};

/// Reads the listings of providers and keeps rows and groups in line with them. Thread-safe; no
/// method waits for a provider or, apart from SyncGroups, for the disk.
class Discovery : public Inventory {
 public:
  using Done = std::function<void(const DiscoveryResult&)>;
  using AllDone = std::function<void(const std::vector<DiscoveryResult>&)>;

  /// Asks one provider now, or joins the scan that is running. A scan asked for this way disables
  /// nothing. `done` is called once, on a thread of the discovery's: NotFound for an unknown
  /// provider, FailedPrecondition for one with a fixed list or switched off, Cancelled when the
  /// hotel is closed first.
  virtual void Refresh(std::string_view provider_id, Done done) = 0;
  /// The same for every provider that discovery asks by itself, all at once.
  virtual void RefreshAll(AllDone done) = 0;
  /// A provider was added or changed: it is asked soon, unless it is not for discovery to ask.
  virtual void NoteProviderChanged(std::string_view provider_id) = 0;

  /// Every provider of the store.
  virtual std::vector<ProviderDiscovery> Status() const = 0;

  /// Brings the groups in line with the models as they are (seed 000, "Auto-Generation"). Waits for
  /// the disk. What could not be done is in `errors`.
  virtual absl::StatusOr<GroupChanges> SyncGroups() = 0;
  /// When that was done last, by hand or after a scan; none = not in this database's life.
  virtual std::optional<WallTime> last_synced_at() const = 0;
};

}  // namespace hotel

#endif  // HOTEL_DISCOVERY_H_
