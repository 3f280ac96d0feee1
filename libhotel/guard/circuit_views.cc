#include "libhotel/guard/circuit_views.h"

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

std::vector<ProviderView> GroupByProvider(std::vector<CircuitView> circuits) {
  std::vector<ProviderView> rows;
  for (CircuitView& circuit : circuits) {
    if (rows.empty() || rows.back().provider_id != circuit.key.provider_id) {
      rows.emplace_back();
      rows.back().provider_id = circuit.key.provider_id;
      rows.back().provider_name = circuit.key.provider_name;
    }
    ProviderView& row = rows.back();
    row.quota_pinned = row.quota_pinned || circuit.quota_pinned;
    row.circuits.push_back(std::move(circuit));
    if (Dominates(row.circuits.back(), row.row())) row.dominant = row.circuits.size() - 1;
  }
  return rows;
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
