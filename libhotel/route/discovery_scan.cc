// StandardDiscovery: one scan, from its first request to its end.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "libhotel/decide/freshness.h"
#include "libhotel/decide/inventory.h"
#include "libhotel/route/discovery.h"

namespace hotel::route {
namespace {

constexpr int kMostPages = 20;
constexpr int kConfirmations = 2;
/// Waits before what is missing is asked for again (facts l).
constexpr Duration kConfirmAfter[kConfirmations] = {std::chrono::seconds(15),
                                                    std::chrono::seconds(45)};
constexpr std::size_t kMostErrorBytes = 300;

std::string ErrorText(const absl::Status& status) {
  std::string text(status.message());
  if (text.size() <= kMostErrorBytes) return text;
  std::size_t end = kMostErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace

StandardDiscovery::Scan* StandardDiscovery::FindScan(const std::string& provider_id) {
  const auto found = running_.find(provider_id);
  return found == running_.end() ? nullptr : found->second.get();
}

ProviderScan& StandardDiscovery::RowOf(const std::string& provider_id) {
  ProviderScan& row = scans_[provider_id];
  row.provider_id = provider_id;
  return row;
}

void StandardDiscovery::Begin(std::shared_ptr<const Provider> provider, bool may_disable,
                              Done done) {
  const std::string id = provider->id;
  if (Scan* const scan = FindScan(id)) {
    if (done) scan->done.push_back(std::move(done));
    if (may_disable || !scan->may_disable) return;
    // Somebody waits for it now: it is not for this scan to be sure of what is missing.
    scan->may_disable = false;
    if (scan->wait == 0) return;
    parts_.loop->CancelTimer(std::exchange(scan->wait, 0));
    return Apply(id);
  }
  auto scan = std::make_unique<Scan>();
  scan->provider = std::move(provider);
  scan->may_disable = may_disable;
  ExplainBegin(*scan->provider, may_disable);
  if (done) scan->done.push_back(std::move(done));
  running_.emplace(id, std::move(scan));
  Publish();
  FetchPage(id, "");
}

void StandardDiscovery::FetchPage(const std::string& provider_id, const std::string& after) {
  Scan* const scan = FindScan(provider_id);
  ++scan->pages;
  const auto settings = parts_.settings->Current();
  scan->fetch = std::make_unique<PageFetch>(
      parts_.loop, parts_.dispatcher, scan->provider,
      settings->For(scan->provider->routing_name).timeouts.connect_timeout,
      [this, provider_id](absl::StatusOr<std::string> body) {
        OnPage(provider_id, std::move(body));
      });
  scan->fetch->Start(after);
}

void StandardDiscovery::OnPage(const std::string& provider_id, absl::StatusOr<std::string> body) {
  if (!body.ok()) return OnFailure(provider_id, body.status());
  parts_.background([weak = self_, loop = parts_.loop, provider_id,
                     type = FindScan(provider_id)->provider->type, body = *std::move(body)] {
    auto page = wire::ReadListing(body, type);
    loop->Post([weak, provider_id, page = std::move(page)]() mutable {
      const auto self = weak.lock();
      if (self != nullptr && !self->stopped_) self->OnParsed(provider_id, std::move(page));
    });
  });
}

void StandardDiscovery::OnParsed(const std::string& provider_id,
                                 absl::StatusOr<wire::ListingPage> page) {
  if (!page.ok()) return OnFailure(provider_id, page.status());
  Scan* const scan = FindScan(provider_id);
  decide::Unite(&scan->page_models, std::move(page->models));
  if (page->more) {
    if (!page->last_id.empty() && scan->pages < kMostPages &&
        scan->page_models.size() < wire::kMostListedModels) {
      return FetchPage(provider_id, page->last_id);
    }
    scan->complete = false;
  }
  OnListing(provider_id);
}

void StandardDiscovery::OnListing(const std::string& provider_id) {
  Scan* const scan = FindScan(provider_id);
  scan->fetch.reset();
  scan->pages = 0;
  decide::Unite(&scan->listing, std::exchange(scan->page_models, {}));
  // Half a list says nothing about what is missing from it.
  if (!scan->complete) scan->may_disable = false;
  if (scan->may_disable && scan->confirmations < kConfirmations &&
      decide::LacksKnownModels(provider_id, parts_.groups->Snapshot()->models(), scan->listing)) {
    const Duration wait = kConfirmAfter[scan->confirmations++];
    scan->wait = parts_.loop->RunAt(parts_.loop->Now() + wait, [this, provider_id] {
      FindScan(provider_id)->wait = 0;
      FetchPage(provider_id, "");
    });
    return;
  }
  Apply(provider_id);
}

void StandardDiscovery::OnFailure(const std::string& provider_id, const absl::Status& status) {
  Scan* const scan = FindScan(provider_id);
  if (scan->confirmations > 0) {
    // It was read before: what could not be confirmed does not count.
    scan->may_disable = false;
    scan->page_models.clear();
    return OnListing(provider_id);
  }
  const auto snapshot = parts_.groups->Snapshot();
  RowOf(provider_id);
  bool others_serve = false;
  std::vector<ProviderScan> asked;
  for (const auto& provider : snapshot->providers()) {
    if (!provider->enabled) continue;
    if (provider->id != provider_id &&
        (provider->fixed_models || !provider->autodiscovery_enabled)) {
      others_serve = true;
    } else {
      asked.push_back(RowOf(provider->id));
    }
  }
  std::vector<ProviderScan> changed;
  const bool was_fine = scans_[provider_id].last_error.empty();
  const auto current = snapshot->FindProviderById(provider_id);
  if (current != nullptr && current->enabled) {
    decide::NoteListingFailed(provider_id, ErrorText(status), others_serve, parts_.clock->WallNow(),
                              &asked);
  }
  for (ProviderScan& row : asked) {
    ProviderScan& before = scans_[row.provider_id];
    if (row == before) continue;
    changed.push_back(row);
    before = std::move(row);
  }
  parts_.background([store = parts_.store, changed = std::move(changed)] {
    // Not kept: it is in force all the same, and written with the next scan.
    store->WriteScans(changed).IgnoreError();
  });
  DiscoveryResult result;
  result.provider_id = provider_id;
  result.provider_name = scan->provider->name;
  result.status = absl::UnavailableError(ErrorText(status));
  if (was_fine) {
    Tell("discovery.failed", Event::Severity::kWarning,
         "Provider " + result.provider_name + " could not be asked for its models",
         {{"provider_id", provider_id}, {"provider", result.provider_name}});
  }
  Finish(provider_id, std::move(result));
}

void StandardDiscovery::Apply(const std::string& provider_id) {
  Scan* const scan = FindScan(provider_id);
  parts_.background([weak = self_, loop = parts_.loop, store = parts_.store, provider_id,
                     name = scan->provider->name, may_disable = scan->may_disable,
                     listing = std::exchange(scan->listing, {}),
                     row = RowOf(provider_id)]() mutable {
    auto applied = store->ApplyListing(listing, may_disable, &row);
    DiscoveryResult result;
    if (applied.ok()) {
      result = *std::move(applied);
    } else {
      result.provider_id = provider_id;
      result.provider_name = name;
      result.status = applied.status();
    }
    loop->Post([weak, result = std::move(result), row = std::move(row)]() mutable {
      const auto self = weak.lock();
      if (self == nullptr || self->stopped_) return;
      const std::string id = result.provider_id;
      if (result.status.ok()) {
        const bool came_back = !self->scans_[id].last_error.empty();
        self->scans_[id] = row;
        self->TellResult(result, row.suspect_scans);
        self->NoteSynced();
        if (came_back) {
          self->Tell("discovery.recovered", Event::Severity::kSuccess,
                     "Provider " + result.provider_name + " lists its models again",
                     {{"provider_id", id}, {"provider", result.provider_name}});
        }
      }
      self->Finish(id, std::move(result));
    });
  });
}

void StandardDiscovery::Finish(const std::string& provider_id, DiscoveryResult result) {
  const auto found = running_.find(provider_id);
  const std::unique_ptr<Scan> scan = std::move(found->second);
  running_.erase(found);
  // A row that no scan has filled in: the provider was never asked to the end.
  const auto row = scans_.find(provider_id);
  if (row != scans_.end() && row->second.checked_at == WallTime{}) scans_.erase(row);
  Publish();
  ExplainEnd(result);
  for (const Done& done : scan->done) done(result);
}

}  // namespace hotel::route
