// Discovery behind hotel/discovery.h: the scans that run, their triggers, what comes of them.
//
// Scans live on the loop. Lists are parsed, and rows written, where `background` runs tasks: a
// thread of its own in a hotel, the same thread in tests.
#ifndef HOTEL_ROUTE_DISCOVERY_H_
#define HOTEL_ROUTE_DISCOVERY_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hotel/clock.h"
#include "hotel/discovery.h"
#include "hotel/dispatcher.h"
#include "hotel/events.h"
#include "hotel/failover_group.h"
#include "hotel/loop.h"
#include "hotel/settings.h"

#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/route/page_fetch.h"
#include "libhotel/wire/model_listing.h"

namespace hotel::route {

struct DiscoveryParts {
  const Clock* clock = nullptr;
  Loop* loop = nullptr;
  Dispatcher* dispatcher = nullptr;
  FailoverGroupStore* groups = nullptr;
  InventoryStore* store = nullptr;
  const SettingsSource* settings = nullptr;
  EventSink* events = nullptr;  ///< may be null
  std::function<void(std::function<void()>)> background;
};

class StandardDiscovery final : public Discovery {
 public:
  /// Reads what is kept of earlier scans. The parts must outlive Stop.
  static absl::StatusOr<std::shared_ptr<StandardDiscovery>> Open(DiscoveryParts parts);

  /// Begins to scan by itself, as the settings say. Loop thread.
  void Start();
  /// Ends every scan (Cancelled) and begins none any more. Loop thread. The tasks of `background`
  /// may still use the store until they have ended.
  void Stop();

  bool IsLeftOut(std::string_view provider_id) const noexcept override;
  void NoteUnknownModel(std::string_view provider_id) noexcept override;
  void Refresh(std::string_view provider_id, Done done) override;
  void RefreshAll(AllDone done) override;
  void NoteProviderChanged(std::string_view provider_id) override;
  std::vector<ProviderDiscovery> Status() const override;
  absl::StatusOr<GroupChanges> SyncGroups() override;
  std::optional<WallTime> last_synced_at() const override;

 private:
  /// One provider being asked.
  struct Scan {
    std::shared_ptr<const Provider> provider;
    bool may_disable = false;  ///< nobody asked for it by hand
    bool complete = true;      ///< every page came
    int confirmations = 0;     ///< further listings asked for what is missing
    int pages = 0;             ///< of the current listing
    std::vector<ListedModel> listing;
    std::vector<ListedModel> page_models;  ///< of the current listing
    std::unique_ptr<PageFetch> fetch;
    Loop::TimerId wait = 0;  ///< for a confirmation
    std::vector<Done> done;
  };
  /// Scans that were begun together.
  struct Pass {
    std::size_t left = 0;
    bool scheduled = false;
    std::vector<DiscoveryResult> results;
    AllDone done;
  };

  explicit StandardDiscovery(DiscoveryParts parts) : parts_(std::move(parts)) {}

  // Triggers (discovery.cc).
  bool IsAutomatic() const {
    return started_ && parts_.settings->Current()->global.discovery.enabled;
  }
  void Post(std::function<void(StandardDiscovery&)> task);
  void Tick();
  void BeginPass(bool scheduled, AllDone done);
  void EndOfPass(const std::shared_ptr<Pass>& pass);
  void Recheck();
  void BeginByHand(const std::string& provider_id, Done done);

  // One scan (discovery_scan.cc).
  void Begin(std::shared_ptr<const Provider> provider, bool may_disable, Done done);
  void FetchPage(const std::string& provider_id, const std::string& after);
  void OnPage(const std::string& provider_id, absl::StatusOr<std::string> body);
  void OnParsed(const std::string& provider_id, absl::StatusOr<wire::ListingPage> page);
  void OnListing(const std::string& provider_id);
  void OnFailure(const std::string& provider_id, const absl::Status& status);
  void Apply(const std::string& provider_id);
  void Finish(const std::string& provider_id, DiscoveryResult result);
  Scan* FindScan(const std::string& provider_id);
  ProviderScan& RowOf(const std::string& provider_id);

  // What is told (discovery_events.cc).
  void Publish();
  void Tell(const char* type, Event::Severity severity, std::string message,
            std::vector<std::pair<std::string, Event::Value>> metadata);
  void TellResult(const DiscoveryResult& result, int suspect_scans);
  void TellGroups(const GroupChanges& groups);
  void ExplainBegin(const Provider& provider, bool may_disable);
  void ExplainEnd(const DiscoveryResult& result);
  void NoteSynced();

  const DiscoveryParts parts_;
  std::weak_ptr<StandardDiscovery> self_;

  // Loop thread.
  bool started_ = false;
  bool stopped_ = false;
  Loop::TimerId tick_ = 0;
  TimePoint last_pass_{};
  TimePoint last_recheck_{};
  std::map<std::string, std::unique_ptr<Scan>> running_;
  std::map<std::string, ProviderScan> scans_;
  std::unordered_map<std::string, TimePoint> asked_for_unknown_;

  // What other threads see.
  struct Seen {
    bool automatic = false;
    std::map<std::string, ProviderScan> scans;
    std::set<std::string> running;
    std::set<std::string, std::less<>> left_out;
    std::optional<WallTime> synced_at;
  };
  std::atomic<bool> closed_{false};
  std::atomic<std::size_t> left_out_{0};
  mutable base::Mutex mutex_;
  Seen seen_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_DISCOVERY_H_
