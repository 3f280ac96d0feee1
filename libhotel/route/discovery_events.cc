// StandardDiscovery: what others see of it.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "libhotel/decide/freshness.h"
#include "libhotel/decide/inventory.h"
#include "libhotel/route/discovery.h"

namespace hotel::route {
namespace {

constexpr char kSource[] = "discovery";

/// Events of one kind that one sync may cause: a provider that comes and goes must not drown what
/// else happens.
constexpr std::size_t kMostEvents = 20;

std::int64_t Count(std::size_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

void StandardDiscovery::Publish() {
  Seen now;
  now.automatic = IsAutomatic();
  now.scans = scans_;
  for (const auto& [id, scan] : running_) now.running.insert(id);
  for (const auto& [id, scan] : scans_) {
    // Left alone, it would never be heard of that a provider can be listed again.
    if (now.automatic && scan.stale) now.left_out.insert(id);
  }
  left_out_.store(now.left_out.size());
  base::MutexLock lock(&mutex_);
  now.synced_at = seen_.synced_at;
  std::swap(seen_, now);
}

bool StandardDiscovery::IsLeftOut(std::string_view provider_id) const noexcept {
  if (left_out_.load() == 0) return false;
  base::MutexLock lock(&mutex_);
  return seen_.left_out.find(provider_id) != seen_.left_out.end();
}

std::vector<ProviderDiscovery> StandardDiscovery::Status() const {
  Seen seen;
  {
    base::MutexLock lock(&mutex_);
    seen = seen_;
  }
  const auto snapshot = parts_.groups->Snapshot();
  std::map<std::string_view, std::pair<std::size_t, std::size_t>> models;
  for (const Model& model : snapshot->models()) {
    auto& [all, enabled] = models[model.provider_id];
    ++all;
    if (model.enabled) ++enabled;
  }
  std::vector<ProviderDiscovery> list;
  for (const auto& provider : snapshot->providers()) {
    ProviderDiscovery one;
    one.provider_id = provider->id;
    one.running = seen.running.count(provider->id) != 0;
    std::tie(one.model_count, one.enabled_model_count) = models[provider->id];
    const auto scan = seen.scans.find(provider->id);
    const bool known = scan != seen.scans.end() && scan->second.checked_at != WallTime{};
    if (known) {
      one.last_checked_at = scan->second.checked_at;
      one.last_success_at = scan->second.succeeded_at;
      one.last_error = scan->second.last_error;
      one.suspect_scans = scan->second.suspect_scans;
    }
    if (provider->enabled && !provider->fixed_models) {
      if (known) {
        one.state = decide::StateOf(scan->second);
        one.left_out = provider->autodiscovery_enabled && seen.left_out.count(provider->id) != 0;
      } else if (one.running || (seen.automatic && provider->autodiscovery_enabled)) {
        one.state = DiscoveryState::kStarting;
      }
    }
    list.push_back(std::move(one));
  }
  return list;
}

absl::StatusOr<GroupChanges> StandardDiscovery::SyncGroups() {
  auto changes = parts_.store->SyncGroups();
  if (changes.ok()) {
    TellGroups(*changes);
    NoteSynced();
  } else {
    GroupChanges failed;
    failed.errors.emplace_back(std::string(changes.status().message()));
    TellGroups(failed);
  }
  return changes;
}

std::optional<WallTime> StandardDiscovery::last_synced_at() const {
  base::MutexLock lock(&mutex_);
  return seen_.synced_at;
}

void StandardDiscovery::NoteSynced() {
  base::MutexLock lock(&mutex_);
  seen_.synced_at = parts_.clock->WallNow();
}

void StandardDiscovery::Tell(const char* type, Event::Severity severity, std::string message,
                             std::vector<std::pair<std::string, Event::Value>> metadata) {
  if (parts_.events == nullptr) return;
  Event event;
  event.type = type;
  event.severity = severity;
  event.source = std::string_view(type).substr(0, 8) == "failover" ? "failover" : kSource;
  event.message = std::move(message);
  event.metadata = std::move(metadata);
  parts_.events->OnEvent(event);
}

/// For the debug log.
void StandardDiscovery::ExplainBegin(const Provider& provider, bool may_disable) {
  if (parts_.events == nullptr || !parts_.events->WantsDebug(kSource)) return;
  LogNote note;
  note.source = kSource;
  note.message = "listing asked for";
  note.attributes = {{"provider", provider.routing_name}, {"may_disable", may_disable}};
  note.debug = true;
  parts_.events->OnNote(note);
}

void StandardDiscovery::ExplainEnd(const DiscoveryResult& result) {
  if (parts_.events == nullptr || !parts_.events->WantsDebug(kSource)) return;
  LogNote note;
  note.source = kSource;
  note.message = result.status.ok() ? "listing applied" : "listing failed";
  note.attributes = {{"provider", RoutingName(result.provider_name)}};
  if (result.status.ok()) {
    note.attributes.insert(note.attributes.end(),
                           {{"models_found", Count(result.models_found)},
                            {"added", Count(result.models.added.size())},
                            {"disabled", Count(result.models.disabled.size())},
                            {"suspect", result.suspect}});
  }
  note.debug = true;
  parts_.events->OnNote(note);
}

void StandardDiscovery::TellResult(const DiscoveryResult& result, int suspect_scans) {
  const std::string& name = result.provider_name;
  if (result.suspect && suspect_scans > 0) {
    Tell("discovery.suspect_scan", Event::Severity::kWarning,
         fmt::format("Provider {} lists far fewer models than before; none was disabled", name),
         {{"provider_id", result.provider_id},
          {"provider", name},
          {"models_found", Count(result.models_found)},
          {"suspect_scans", std::int64_t{suspect_scans}}});
    if (suspect_scans % decide::kSuspectScans == 0) {
      Tell("discovery.bulk_removal_suspected", Event::Severity::kWarning,
           fmt::format("Provider {} has removed many models, or its list is broken", name),
           {{"provider_id", result.provider_id},
            {"provider", name},
            {"suspect_scans", std::int64_t{suspect_scans}}});
    }
  }
  if (!result.models.empty()) {
    Tell("discovery.changed", Event::Severity::kInfo,
         fmt::format("Provider {}: {} models added, {} enabled again, {} disabled, {} updated",
                     name, result.models.added.size(), result.models.reenabled.size(),
                     result.models.disabled.size(), result.models.updated.size()),
         {{"provider_id", result.provider_id},
          {"provider", name},
          {"added", Count(result.models.added.size())},
          {"reenabled", Count(result.models.reenabled.size())},
          {"disabled", Count(result.models.disabled.size())},
          {"updated", Count(result.models.updated.size())}});
  }
  TellGroups(result.groups);
}

void StandardDiscovery::TellGroups(const GroupChanges& groups) {
  const auto each = [](const auto& list, const auto& tell) {
    for (std::size_t i = 0; i < std::min(list.size(), kMostEvents); ++i) tell(list[i]);
  };
  each(groups.deleted, [this](const GroupChanges::Deleted& group) {
    Tell("failover.group_deleted", Event::Severity::kInfo,
         fmt::format("Failover group {} deleted: {}", group.display_model, group.reason),
         {{"group", group.display_model}, {"provider_count", Count(group.provider_count)}});
  });
  each(groups.disabled, [this](const GroupChanges::Switched& group) {
    Tell("failover.group_disabled", Event::Severity::kWarning,
         fmt::format("Failover group {} switched off: {}", group.display_model, group.reason),
         {{"group", group.display_model}, {"effective_count", Count(group.effective_count)}});
  });
  each(groups.enabled, [this](const GroupChanges::Switched& group) {
    Tell("failover.group_enabled", Event::Severity::kSuccess,
         fmt::format("Failover group {} switched on: {}", group.display_model, group.reason),
         {{"group", group.display_model}, {"effective_count", Count(group.effective_count)}});
  });
  each(groups.updated, [this](const GroupChanges::Updated& group) {
    Tell("failover.group_updated", Event::Severity::kInfo,
         fmt::format("Failover group {} brought up to date", group.display_model),
         {{"group", group.display_model},
          {"added", Count(group.added_model_ids.size())},
          {"removed", Count(group.removed_model_ids.size())}});
  });
  each(groups.errors, [this](const std::string& error) {
    Tell("failover.sync_error", Event::Severity::kWarning, "Failover groups could not be synced",
         {{"reason", error}});
  });
}

}  // namespace hotel::route
