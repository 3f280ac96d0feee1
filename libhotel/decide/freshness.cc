#include "libhotel/decide/freshness.h"

#include <algorithm>
#include <utility>

namespace hotel::decide {

DiscoveryState StateOf(const ProviderScan& scan) noexcept {
  if (scan.last_error.empty()) return DiscoveryState::kFresh;
  return scan.succeeded_at ? DiscoveryState::kStale : DiscoveryState::kNeverSucceeded;
}

void NoteListingFailed(std::string_view provider_id, std::string error, bool others_serve,
                       WallTime now, std::vector<ProviderScan>* scans) {
  const auto failed = std::find_if(
      scans->begin(), scans->end(),
      [provider_id](const ProviderScan& scan) { return scan.provider_id == provider_id; });
  failed->checked_at = now;
  failed->last_error = std::move(error);
  const bool all_fail =
      !others_serve && std::none_of(scans->begin(), scans->end(), [](const ProviderScan& scan) {
        return scan.last_error.empty();
      });
  failed->stale = failed->succeeded_at.has_value();
  if (!all_fail) return;
  for (ProviderScan& scan : *scans) scan.stale = false;
}

}  // namespace hotel::decide
