#include "libhotel/decide/freshness.h"

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

const WallTime kNow{std::chrono::hours(24 * 365 * 50)};

/// Providers a and b, read before, and c, which never was.
std::vector<ProviderScan> Scans() {
  std::vector<ProviderScan> scans(3);
  for (std::size_t i = 0; i < scans.size(); ++i) scans[i].provider_id = std::string(1, "abc"[i]);
  scans[0].succeeded_at = scans[1].succeeded_at = kNow - std::chrono::hours(1);
  return scans;
}

TEST_CASE("R85 a provider that was read before and fails is stale") {
  std::vector<ProviderScan> scans = Scans();
  NoteListingFailed("a", "down", false, kNow, &scans);
  CHECK(scans[0].stale);
  CHECK(scans[0].last_error == "down");
  CHECK(scans[0].checked_at == kNow);
  CHECK(StateOf(scans[0]) == DiscoveryState::kStale);
  CHECK(StateOf(scans[1]) == DiscoveryState::kFresh);
  CHECK_FALSE(scans[1].stale);
}

TEST_CASE("R90 a provider that never was read is not stale but has never succeeded") {
  std::vector<ProviderScan> scans = Scans();
  NoteListingFailed("c", "down", true, kNow, &scans);
  CHECK_FALSE(scans[2].stale);
  CHECK(StateOf(scans[2]) == DiscoveryState::kNeverSucceeded);
}

TEST_CASE("R89 when every provider fails none is stale any more") {
  std::vector<ProviderScan> scans = Scans();
  for (const char* id : {"c", "a"}) NoteListingFailed(id, "down", false, kNow, &scans);
  CHECK(scans[0].stale);
  NoteListingFailed("b", "down", false, kNow, &scans);
  for (const ProviderScan& scan : scans) CHECK_FALSE(scan.stale);
}

TEST_CASE("R89 is no matter where a provider with a fixed list serves") {
  std::vector<ProviderScan> scans = Scans();
  for (const char* id : {"c", "a", "b"}) NoteListingFailed(id, "down", true, kNow, &scans);
  CHECK(scans[0].stale);
  CHECK(scans[1].stale);
}

TEST_CASE("R91 after a total outage peers become stale with their next failure") {
  std::vector<ProviderScan> scans = Scans();
  for (const char* id : {"c", "a", "b"}) NoteListingFailed(id, "down", false, kNow, &scans);
  scans[1].last_error.clear();  // b comes back
  CHECK_FALSE(scans[0].stale);
  NoteListingFailed("a", "down", false, kNow, &scans);
  CHECK(scans[0].stale);
}

}  // namespace
}  // namespace hotel::decide
