#include "libhotel/decide/provider_status.h"

#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

constexpr DiscoveryState kDiscovery[] = {DiscoveryState::kConfigured, DiscoveryState::kStarting,
                                         DiscoveryState::kFresh, DiscoveryState::kStale,
                                         DiscoveryState::kNeverSucceeded};
constexpr CircuitState kCircuits[] = {CircuitState::kClosed, CircuitState::kHalfOpen,
                                      CircuitState::kOpen};

std::string Label(DiscoveryState discovery, bool failing, CircuitState circuit) {
  return ProviderStatusLabel(StatusOf({true, discovery, failing, circuit}));
}

TEST_CASE("R80 R81 R85 R90 what a provider is called") {
  using D = DiscoveryState;
  using C = CircuitState;
  CHECK(Label(D::kFresh, false, C::kClosed) == "Healthy");
  CHECK(Label(D::kStarting, false, C::kClosed) == "Starting");
  CHECK(Label(D::kConfigured, false, C::kClosed) == "Configured");
  CHECK(Label(D::kFresh, true, C::kClosed) == "Degraded");
  CHECK(Label(D::kConfigured, true, C::kClosed) == "Degraded");
  CHECK(Label(D::kFresh, false, C::kHalfOpen) == "Recovering");
  CHECK(Label(D::kFresh, true, C::kOpen) == "Circuit Open");
  CHECK(Label(D::kStale, false, C::kClosed) == "Offline");
  CHECK(Label(D::kStale, false, C::kOpen) == "Offline");
  CHECK(Label(D::kNeverSucceeded, true, C::kHalfOpen) == "Unhealthy");
}

TEST_CASE("R80 requests and circuits only worsen what discovery says") {
  for (const DiscoveryState discovery : kDiscovery) {
    const ProviderStatus alone = StatusOf({true, discovery, false, CircuitState::kClosed});
    for (const CircuitState circuit : kCircuits) {
      for (const bool failing : {false, true}) {
        CHECK(StatusOf({true, discovery, failing, circuit}) >= alone);
      }
    }
  }
}

TEST_CASE("R80 a provider that is switched off is called so, whatever else is known") {
  for (const DiscoveryState discovery : kDiscovery) {
    for (const CircuitState circuit : kCircuits) {
      CHECK(StatusOf({false, discovery, true, circuit}) == ProviderStatus::kDisabled);
    }
  }
}

TEST_CASE("R80 every status has a word and a label of its own") {
  std::vector<std::string> seen;
  CHECK(std::size(kProviderStatuses) == static_cast<std::size_t>(ProviderStatus::kUnhealthy) + 1);
  for (const ProviderStatus status : kProviderStatuses) {
    for (const std::string text : {ProviderStatusName(status), ProviderStatusLabel(status)}) {
      CHECK_FALSE(text.empty());
      for (const std::string& other : seen) CHECK(text != other);
      seen.push_back(text);
    }
  }
}

}  // namespace
}  // namespace hotel::decide
