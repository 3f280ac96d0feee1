// Providers, their models, and the failover groups that route over them.
//
// The request path sees one immutable `GroupSnapshot`; every accepted change publishes a new one
// with a higher generation (seed 000, "Database Schema", "Failover Groups", "Cache Behavior").
#ifndef HOTEL_FAILOVER_GROUP_H_
#define HOTEL_FAILOVER_GROUP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/transport.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// Whether a provider's credential can be used.
enum class KeyState {
  kKeyless,        ///< none is stored; requests go out without a credential
  kReady,          ///< decrypted, `Provider::api_key` holds it
  kUndecryptable,  ///< it or the proxy is stored, but the master key at hand does not open it
};

/// One upstream service. Immutable once published in a snapshot.
struct Provider {
  std::string id;    ///< UUID
  std::string name;  ///< as the operator wrote it, 1-100 characters
  std::string
      routing_name;      ///< `name` with spaces as hyphens; unique; the part before the first '/'
  std::string type;      ///< one of the known provider types, e.g. "openai", "anthropic"
  std::string base_url;  ///< http(s) URL without a trailing slash
  bool enabled = true;
  KeyState key_state = KeyState::kKeyless;
  Secret api_key;  ///< set when key_state is kReady
  /// True: `models` is the whole list, an id outside of it does not exist. False: any id is sent.
  bool fixed_models = false;
  /// Requests it may have at a time, 1-10000; 0 = no ceiling but the learned one.
  int max_in_flight = 0;
  /// False: its listing is read only when somebody asks for that.
  bool autodiscovery_enabled = true;
  /// What is particular to its connections; null = nothing.
  std::shared_ptr<const TransportOptions> transport;
  WallTime created_at{};
  WallTime updated_at{};
};

/// What a model costs, in US dollars per million tokens, each 0-1000. Unknown prices hold no value.
struct ModelPrices {
  std::optional<double> input;
  std::optional<double> output;
  std::optional<double> cached_input;  ///< prompt tokens the provider read from its cache
  bool set_by_operator = false;        ///< a listing does not change them then

  friend bool operator==(const ModelPrices& a, const ModelPrices& b) noexcept {
    return a.input == b.input && a.output == b.output && a.cached_input == b.cached_input &&
           a.set_by_operator == b.set_by_operator;
  }
  friend bool operator!=(const ModelPrices& a, const ModelPrices& b) noexcept { return !(a == b); }
};

/// What a listing tells about a model beside what routing and accounting use.
struct ModelDetails {
  std::string description;
  std::string modality;  ///< e.g. "text+image->text"
  std::vector<std::string> input_modalities;
  std::vector<std::string> output_modalities;
  std::vector<std::string> capabilities;  ///< e.g. "vision", "tools"
  std::vector<std::string> parameters;    ///< request parameters it takes

  friend bool operator==(const ModelDetails& a, const ModelDetails& b) {
    return a.description == b.description && a.modality == b.modality &&
           a.input_modalities == b.input_modalities && a.output_modalities == b.output_modalities &&
           a.capabilities == b.capabilities && a.parameters == b.parameters;
  }
  friend bool operator!=(const ModelDetails& a, const ModelDetails& b) { return !(a == b); }
};

/// One model a provider serves.
struct Model {
  std::string id;           ///< UUID
  std::string provider_id;  ///< UUID of its provider
  std::string model_id;     ///< what is sent upstream, e.g. "z-ai/glm-4.6"
  bool enabled = true;
  bool disabled_manually = false;  ///< by SetModelEnabled, not by a list that no longer names it
  WallTime created_at{};
  std::string name;                    ///< what its provider calls it; "" = it does not say
  std::string display_name;            ///< an operator's label, up to 128 characters; "" = none
  std::string owned_by;                ///< as listed; "" = not said
  std::int64_t context_length = 0;     ///< tokens; 0 = unknown
  std::int64_t max_output_tokens = 0;  ///< 0 = unknown
  ModelPrices prices;
  ModelDetails details;
  std::optional<WallTime> last_seen_at;  ///< in a listing; none = never: only a group names it
  int missing_scans = 0;                 ///< listings in a row that did not name it
  std::optional<WallTime> retired_at;    ///< switched off then, since listings left it out

  friend bool operator==(const Model& a, const Model& b) {
    return a.id == b.id && a.provider_id == b.provider_id && a.model_id == b.model_id &&
           a.enabled == b.enabled && a.disabled_manually == b.disabled_manually &&
           a.created_at == b.created_at && a.name == b.name && a.display_name == b.display_name &&
           a.owned_by == b.owned_by && a.context_length == b.context_length &&
           a.max_output_tokens == b.max_output_tokens && a.prices == b.prices &&
           a.details == b.details && a.last_seen_at == b.last_seen_at &&
           a.missing_scans == b.missing_scans && a.retired_at == b.retired_at;
  }
  friend bool operator!=(const Model& a, const Model& b) { return !(a == b); }
};

/// A member of a group: a model row and the operator's toggle for it.
struct GroupEntry {
  std::string model_uuid;
  bool enabled = true;
};

/// One logical model backed by an ordered list of models, reached as `hotel/<display_model>`.
struct FailoverGroup {
  std::string id;                   ///< UUID
  std::string display_model;        ///< unique, lower-case, 1-128 characters
  std::string display_name;         ///< label, up to 128 characters, may be empty
  std::string description;          ///< up to 500 characters, may be empty
  std::vector<GroupEntry> entries;  ///< priority order, no model twice
  bool group_enabled = true;
  bool auto_created = false;
  std::optional<WallTime> auto_disabled_at;
  std::optional<WallTime> floor_disabled_at;
  WallTime created_at{};
  WallTime updated_at{};
};

/// Everything routing needs, frozen at one generation. Lookups are by hash; returned pointers and
/// references live as long as the snapshot.
class GroupSnapshot {
 public:
  /// Builds the indexes. Entries that name an unknown model are kept (the router skips them).
  GroupSnapshot(std::uint64_t generation, std::vector<std::shared_ptr<const Provider>> providers,
                std::vector<Model> models, std::vector<FailoverGroup> groups);
  ~GroupSnapshot();
  GroupSnapshot(const GroupSnapshot&) = delete;
  GroupSnapshot& operator=(const GroupSnapshot&) = delete;

  /// Grows with every published change of this process; never reused.
  std::uint64_t generation() const noexcept { return generation_; }
  const std::vector<std::shared_ptr<const Provider>>& providers() const noexcept {
    return providers_;
  }
  const std::vector<Model>& models() const noexcept { return models_; }
  const std::vector<FailoverGroup>& groups() const noexcept { return groups_; }

  /// `display_model` is matched as given: the caller lower-cases. Null when there is none.
  const FailoverGroup* FindGroup(std::string_view display_model) const noexcept;
  const FailoverGroup* FindGroupById(std::string_view group_id) const noexcept;
  /// By routing (hyphen) form. Null when there is none.
  std::shared_ptr<const Provider> FindProvider(std::string_view routing_name) const noexcept;
  std::shared_ptr<const Provider> FindProviderById(std::string_view provider_id) const noexcept;
  const Model* FindModel(std::string_view model_uuid) const noexcept;
  const Model* FindModel(std::string_view provider_id, std::string_view model_id) const noexcept;

 private:
  struct Index;
  std::uint64_t generation_;
  std::vector<std::shared_ptr<const Provider>> providers_;
  std::vector<Model> models_;
  std::vector<FailoverGroup> groups_;
  std::unique_ptr<Index> index_;
};

/// The part of a model id after its last '/', lower-cased: "z-ai/GLM-4.6" gives "glm-4.6".
std::string BaseModelName(std::string_view model_id);

/// A provider name in routing form: every space becomes a hyphen.
std::string RoutingName(std::string_view provider_name);

/// What is needed to create a group.
struct NewFailoverGroup {
  std::string display_model;  ///< trimmed and lower-cased by the store
  std::string display_name;
  std::string description;
  std::vector<std::string> entry_ids;  ///< model UUIDs in priority order, at least 2, no repeats
};

/// A partial update: only the fields that hold a value change.
struct FailoverGroupPatch {
  std::optional<std::string> display_model;
  std::optional<std::string> display_name;
  std::optional<std::string> description;
  std::optional<bool> group_enabled;
  /// Replaces the member list wholesale; toggles of ids that stay are kept.
  std::optional<std::vector<std::string>> priority_order;
  /// Sets toggles of members, at most 100. Ids that are no members are kept for later (a toggle
  /// expresses intent).
  std::optional<std::vector<std::pair<std::string, bool>>> entry_enabled;
};

/// Where groups live. All methods are thread-safe. Reads never wait for the disk; writes do, and
/// return after the change is durable and the new snapshot is published.
///
/// Errors: InvalidArgument with the sentence of seed 000's API reference ("at least 2 entries
/// required for failover group", "unknown entry_id: ..."), NotFound "failover group not found",
/// AlreadyExists "A failover group for '<name>' already exists. ...", Unavailable when the storage
/// cannot be written right now (locked, full); then nothing changed.
class FailoverGroupStore {
 public:
  virtual ~FailoverGroupStore() = default;

  /// The current state. Never null, never blocks on I/O.
  virtual std::shared_ptr<const GroupSnapshot> Snapshot() const noexcept = 0;

  virtual absl::StatusOr<FailoverGroup> Get(std::string_view group_id) const = 0;
  virtual absl::StatusOr<FailoverGroup> Create(const NewFailoverGroup& group) = 0;
  virtual absl::StatusOr<FailoverGroup> Update(std::string_view group_id,
                                               const FailoverGroupPatch& patch) = 0;
  /// Models and providers stay. Deleting what is not there is OK.
  virtual absl::Status Delete(std::string_view group_id) = 0;
};

/// A provider as its operator describes it.
struct ProviderSpec {
  std::string name;
  std::string type;
  std::string base_url;
  Secret api_key;  ///< empty = keyless
  bool enabled = true;
  /// The fixed list of model ids; nullopt = not fixed (rows come from groups and discovery).
  std::optional<std::vector<std::string>> models;
  TransportOptions transport;  ///< see CheckProvider
  int max_in_flight = 0;       ///< 1-10000; 0 = none
  bool autodiscovery_enabled = true;
};

/// A partial update: only the fields that hold a value change.
struct ProviderPatch {
  std::optional<std::string> name;
  std::optional<std::string> type;
  std::optional<std::string> base_url;
  std::optional<Secret> api_key;  ///< an empty one makes the provider keyless
  std::optional<bool> enabled;
  std::optional<int> max_in_flight;  ///< 0 = none
  std::optional<bool> autodiscovery_enabled;
  /// A new fixed list; nullopt inside = not fixed any more.
  std::optional<std::optional<std::vector<std::string>>> models;
};

/// A partial update: only the fields that hold a value change.
struct ModelPatch {
  std::optional<bool> enabled;                    ///< by an operator, see Model::disabled_manually
  std::optional<std::string> display_name;        ///< 1-128 characters
  std::optional<std::int64_t> context_length;     ///< 256-2000000; a listing that says it wins
  std::optional<std::int64_t> max_output_tokens;  ///< 1-128000; a listing that says it wins
  /// Prices as an operator knows them; a listing does not change them. nullopt inside = unknown.
  /// When all three become unknown the listing has its say again.
  std::optional<std::optional<double>> input_price;
  std::optional<std::optional<double>> output_price;
  std::optional<std::optional<double>> cached_input_price;
};

/// Where providers and their models live. Threading, durability and errors as in
/// FailoverGroupStore. Usually the same object.
///
/// What is switched on or off or deleted here tells on groups at once: one that an operator made
/// (not UpsertGroup) is switched off below two routable members and on again at two, an auto group
/// below two members is deleted.
class ProviderStore {
 public:
  virtual ~ProviderStore() = default;

  /// Creates or updates the provider of that routing name; with a fixed list, models outside of it
  /// are disabled and those in it exist and are enabled; a provider that loses its fixed list has
  /// those of its models enabled that no operator switched off. Returns the provider's UUID. An
  /// unchanged key keeps its stored ciphertext. FailedPrecondition for a key or a proxy when the
  /// store has no master key.
  virtual absl::StatusOr<std::string> UpsertProvider(const ProviderSpec& spec) = 0;
  /// As UpsertProvider for one that is not there yet: AlreadyExists when its routing name is taken.
  virtual absl::StatusOr<std::string> CreateProvider(const ProviderSpec& spec) = 0;
  /// NotFound "provider not found"; AlreadyExists when the new name is another's in routing form.
  virtual absl::Status UpdateProvider(std::string_view provider_id, const ProviderPatch& patch) = 0;
  /// Makes sure the row exists; returns its UUID. A row that is there stays as it is, disabled or
  /// not. NotFound for an unknown provider, InvalidArgument for a model outside of a fixed list.
  virtual absl::StatusOr<std::string> EnsureModel(std::string_view provider_id,
                                                  std::string_view model_id) = 0;
  /// Creates or replaces the group of that name with exactly these members, in this order, enabled.
  /// For configuration files: one member is allowed.
  virtual absl::StatusOr<std::string> UpsertGroup(std::string_view display_model,
                                                  const std::vector<std::string>& model_uuids) = 0;
  virtual absl::Status SetProviderEnabled(std::string_view provider_id, bool enabled) = 0;
  virtual absl::Status SetModelEnabled(std::string_view model_uuid, bool enabled) = 0;
  /// InvalidArgument for a value out of range, NotFound "model not found".
  virtual absl::Status UpdateModel(std::string_view model_uuid, const ModelPatch& patch) = 0;
  /// It leaves every group (decisions 10, "Pruning"). NotFound "model not found".
  virtual absl::Status DeleteModel(std::string_view model_uuid) = 0;
  /// As DeleteModel for several at once; ids that are no models are passed over. Returns how many
  /// were deleted.
  virtual absl::StatusOr<std::size_t> DeleteModels(const std::vector<std::string>& model_uuids) = 0;
  /// Removes the provider and its models, from groups too.
  virtual absl::Status DeleteProvider(std::string_view provider_id) = 0;
};

}  // namespace hotel

#endif  // HOTEL_FAILOVER_GROUP_H_
