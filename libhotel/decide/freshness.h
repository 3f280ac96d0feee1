// Which providers' models are left out since they cannot be listed any more (R85-R91).
#ifndef HOTEL_DECIDE_FRESHNESS_H_
#define HOTEL_DECIDE_FRESHNESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "hotel/discovery.h"
#include "hotel/types.h"

namespace hotel::decide {

/// What a failed listing does to the scans of all enabled providers that are asked; the one of
/// `provider_id` must be among them. A provider that was read before becomes stale, unless all of
/// them fail by now and `others_serve` is false (no enabled provider whose models are fixed): then
/// none is stale, and the inventory of before stays in use (R89). A provider that comes back after
/// that does not change the others: those that still fail become stale with their next failure.
void NoteListingFailed(std::string_view provider_id, std::string error, bool others_serve,
                       WallTime now, std::vector<ProviderScan>* scans);

/// Fresh, stale or never succeeded.
DiscoveryState StateOf(const ProviderScan& scan) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_FRESHNESS_H_
