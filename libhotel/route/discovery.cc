#include "libhotel/route/discovery.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "absl/status/status.h"
#include "libhotel/decide/freshness.h"

namespace hotel::route {
namespace {

/// A start so soon after the last scans does not repeat them (facts l).
constexpr Duration kFreshEnough = std::chrono::minutes(5);
/// How often due times and changed settings are looked at.
constexpr Duration kTick = std::chrono::seconds(5);
constexpr Duration kShortestTick = std::chrono::milliseconds(100);
constexpr Duration kUnknownModelPause = std::chrono::minutes(1);
constexpr std::size_t kMostPruned = 500;

/// A provider that discovery asks by itself.
bool IsAsked(const Provider& provider) {
  return provider.enabled && !provider.fixed_models && provider.autodiscovery_enabled;
}

DiscoveryResult Ended(std::string_view provider_id, absl::Status status) {
  DiscoveryResult result;
  result.provider_id = provider_id;
  result.status = std::move(status);
  return result;
}

absl::Status Closed() { return absl::CancelledError("the hotel is closed"); }

}  // namespace

absl::StatusOr<std::shared_ptr<StandardDiscovery>> StandardDiscovery::Open(DiscoveryParts parts) {
  std::shared_ptr<StandardDiscovery> self(new StandardDiscovery(std::move(parts)));
  self->self_ = self;
  auto scans = self->parts_.store->ReadScans();
  if (!scans.ok()) return scans.status();
  std::optional<WallTime> synced_at;
  for (ProviderScan& scan : *scans) {
    if (scan.succeeded_at && (!synced_at || *scan.succeeded_at > *synced_at)) {
      synced_at = scan.succeeded_at;
    }
    self->scans_.insert_or_assign(scan.provider_id, std::move(scan));
  }
  {
    base::MutexLock lock(&self->mutex_);
    self->seen_.synced_at = synced_at;
  }
  self->Publish();
  return self;
}

void StandardDiscovery::Start() {
  started_ = true;
  last_pass_ = last_recheck_ = parts_.loop->Now();
  if (IsAutomatic() && parts_.settings->Current()->global.discovery.on_startup) {
    const WallTime since = parts_.clock->WallNow() -
                           std::chrono::duration_cast<std::chrono::milliseconds>(kFreshEnough);
    const bool fresh = std::any_of(scans_.begin(), scans_.end(), [since](const auto& scan) {
      return scan.second.checked_at > since;
    });
    if (!fresh) {
      BeginPass(true, nullptr);
    } else {
      // What came since then was not in that scan.
      for (const auto& provider : parts_.groups->Snapshot()->providers()) {
        if (IsAsked(*provider) && scans_.count(provider->id) == 0) Begin(provider, true, nullptr);
      }
    }
  }
  Publish();
  Tick();
}

void StandardDiscovery::Stop() {
  stopped_ = true;
  closed_.store(true);
  parts_.loop->CancelTimer(tick_);
  const auto running = std::exchange(running_, {});
  for (const auto& [id, scan] : running) {
    parts_.loop->CancelTimer(scan->wait);
    for (const Done& done : scan->done) {
      if (done) done(Ended(id, Closed()));
    }
  }
}

void StandardDiscovery::Post(std::function<void(StandardDiscovery&)> task) {
  parts_.loop->Post([weak = self_, task = std::move(task)] {
    if (const auto self = weak.lock()) task(*self);
  });
}

void StandardDiscovery::Tick() {
  const DiscoverySettings settings = parts_.settings->Current()->global.discovery;
  const TimePoint now = parts_.loop->Now();
  bool was_automatic = false;
  {
    const base::MutexLock lock(&mutex_);
    was_automatic = seen_.automatic;
  }
  if (was_automatic != settings.enabled) Publish();
  if (!settings.enabled) {
    // Nothing is due.
  } else if (settings.interval.count() > 0 && now - last_pass_ >= settings.interval) {
    BeginPass(true, nullptr);
  } else if (settings.recheck_interval.count() > 0 &&
             now - last_recheck_ >= settings.recheck_interval) {
    Recheck();
  }
  Duration next = kTick;
  for (const Duration due : {settings.interval, settings.recheck_interval}) {
    if (due.count() > 0) next = std::clamp(due, kShortestTick, next);
  }
  tick_ = parts_.loop->RunAt(now + next, [this] { Tick(); });
}

void StandardDiscovery::BeginPass(bool scheduled, AllDone done) {
  if (scheduled) last_pass_ = last_recheck_ = parts_.loop->Now();
  std::vector<std::shared_ptr<const Provider>> asked;
  for (const auto& provider : parts_.groups->Snapshot()->providers()) {
    if (IsAsked(*provider)) asked.push_back(provider);
  }
  auto pass = std::make_shared<Pass>();
  pass->left = asked.size();
  pass->scheduled = scheduled;
  pass->done = std::move(done);
  if (asked.empty()) return EndOfPass(pass);
  for (auto& provider : asked) {
    Begin(std::move(provider), scheduled, [this, pass](const DiscoveryResult& result) {
      pass->results.push_back(result);
      if (--pass->left == 0) EndOfPass(pass);
    });
  }
}

void StandardDiscovery::EndOfPass(const std::shared_ptr<Pass>& pass) {
  if (pass->done) pass->done(pass->results);
  if (!pass->scheduled || stopped_) return;
  std::vector<std::string> clean;
  for (const DiscoveryResult& result : pass->results) {
    if (result.status.ok() && !result.suspect) clean.push_back(result.provider_id);
  }
  const int days = parts_.settings->Current()->global.discovery.prune_days;
  const WallTime before = parts_.clock->WallNow() - std::chrono::hours(24 * days);
  const bool none_asked = pass->results.empty();
  parts_.background([weak = self_, store = parts_.store, clean, days, before, none_asked] {
    // Providers with fixed lists have groups too: a pass without a scan brings those in line.
    GroupChanges changes;
    absl::Status status;
    if (none_asked) {
      auto synced = store->SyncGroups();
      status = synced.status();
      if (synced.ok()) changes = *std::move(synced);
    } else if (days > 0 && !clean.empty()) {
      auto pruned = store->PruneModels(clean, before, kMostPruned);
      status = pruned.status();
      if (pruned.ok()) changes = std::move(pruned->groups);
    }
    if (!status.ok()) changes.errors.emplace_back(std::string(status.message()));
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->TellGroups(changes);
    if (status.ok()) self->NoteSynced();
  });
}

void StandardDiscovery::Recheck() {
  last_recheck_ = parts_.loop->Now();
  for (const auto& provider : parts_.groups->Snapshot()->providers()) {
    if (!IsAsked(*provider)) continue;
    const auto row = scans_.find(provider->id);
    if (row != scans_.end() && !row->second.last_error.empty()) Begin(provider, true, nullptr);
  }
}

void StandardDiscovery::BeginByHand(const std::string& provider_id, Done done) {
  auto provider = parts_.groups->Snapshot()->FindProviderById(provider_id);
  absl::Status status;
  if (stopped_) {
    status = Closed();
  } else if (provider == nullptr) {
    status = absl::NotFoundError("provider not found");
  } else if (provider->fixed_models) {
    status = absl::FailedPreconditionError(
        fmt::format("provider '{}' has a fixed list of models", provider->name));
  } else if (!provider->enabled) {
    status =
        absl::FailedPreconditionError(fmt::format("provider '{}' is switched off", provider->name));
  }
  if (status.ok()) return Begin(std::move(provider), false, std::move(done));
  if (done) done(Ended(provider_id, std::move(status)));
}

void StandardDiscovery::Refresh(std::string_view provider_id, Done done) {
  if (closed_.load()) return done(Ended(provider_id, Closed()));
  Post([id = std::string(provider_id), done = std::move(done)](StandardDiscovery& self) {
    self.BeginByHand(id, done);
  });
}

void StandardDiscovery::RefreshAll(AllDone done) {
  if (closed_.load()) return done({});
  Post([done = std::move(done)](StandardDiscovery& self) {
    if (self.stopped_) return done({});
    self.BeginPass(false, done);
  });
}

void StandardDiscovery::NoteProviderChanged(std::string_view provider_id) {
  Post([id = std::string(provider_id)](StandardDiscovery& self) {
    if (self.stopped_) return;
    const auto provider = self.parts_.groups->Snapshot()->FindProviderById(id);
    if (provider == nullptr) {
      self.scans_.erase(id);
    } else if (self.IsAutomatic() && IsAsked(*provider) &&
               self.parts_.settings->Current()->global.discovery.on_provider_create) {
      self.Begin(provider, false, nullptr);
    }
    self.Publish();
  });
}

void StandardDiscovery::NoteUnknownModel(std::string_view provider_id) noexcept {
  if (closed_.load()) return;
  Post([id = std::string(provider_id)](StandardDiscovery& self) {
    if (self.stopped_ || !self.IsAutomatic()) return;
    const auto provider = self.parts_.groups->Snapshot()->FindProviderById(id);
    if (provider == nullptr || !IsAsked(*provider)) return;
    const TimePoint now = self.parts_.loop->Now();
    const auto [last, first] = self.asked_for_unknown_.try_emplace(id, now);
    if (!first && now - last->second < kUnknownModelPause) return;
    last->second = now;
    self.Begin(provider, false, nullptr);
  });
}

}  // namespace hotel::route
