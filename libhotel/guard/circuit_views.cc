#include "libhotel/guard/circuit_views.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hotel {
namespace guard {
namespace {

/// True when `a` says more about its provider than `b`, which stands before it.
bool Dominates(const CircuitView& a, const CircuitView& b) {
  const auto rank = [](const CircuitView& view) {
    return std::make_tuple(StateRank(view.state), view.next_retry_at.value_or(TimePoint::min()),
                           view.consecutive_fails);
  };
  return rank(a) > rank(b);
}

}  // namespace

int StateRank(CircuitState state) noexcept {
  switch (state) {
    case CircuitState::kClosed:
      return 0;
    case CircuitState::kHalfOpen:
      return 1;
    case CircuitState::kOpen:
      break;
  }
  return 2;
}

ProviderView MakeRow(std::vector<CircuitView> circuits) {
  ProviderView row;
  row.circuits = std::move(circuits);
  if (row.circuits.empty()) return row;
  std::sort(row.circuits.begin(), row.circuits.end(),
            [](const CircuitView& a, const CircuitView& b) { return a.key.model < b.key.model; });
  row.provider_id = row.circuits.front().key.provider_id;
  row.provider_name = row.circuits.front().key.provider_name;
  for (std::size_t i = 0; i < row.circuits.size(); ++i) {
    if (row.circuits[i].quota_pinned) row.quota_pinned = true;
    if (Dominates(row.circuits[i], row.row())) row.dominant = i;
  }
  return row;
}

}  // namespace guard

const char* RefusalName(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::kNone:
      return "";
    case Refusal::kCircuitOpen:
      return "circuit_open";
    case Refusal::kProviderOpen:
      return "provider_open";
    case Refusal::kHalfOpenBusy:
      return "half_open_busy";
    case Refusal::kCapacity:
      return "capacity";
  }
  return "";
}

const char* PinSourceName(PinSource source) noexcept {
  switch (source) {
    case PinSource::kNone:
      return "";
    case PinSource::kAdvisor:
      return "advisor";
    case PinSource::kReserve:
      return "reserve";
    case PinSource::kResponse:
      return "response";
    case PinSource::kAccount:
      return "account";
  }
  return "";
}

std::vector<std::string> ProviderView::open_models() const {
  std::vector<std::string> models;
  for (const CircuitView& circuit : circuits) {
    if (circuit.next_retry_at) models.push_back(circuit.key.model);
  }
  return models;
}

CircuitSummary Summarize(const std::vector<ProviderView>& providers) {
  CircuitSummary summary;
  for (const ProviderView& provider : providers) {
    switch (provider.row().state) {
      case CircuitState::kClosed:
        ++summary.closed;
        break;
      case CircuitState::kHalfOpen:
        ++summary.half_open;
        break;
      case CircuitState::kOpen:
        ++summary.open;
        break;
    }
  }
  return summary;
}

}  // namespace hotel
