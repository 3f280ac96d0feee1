#include "libhotel/decide/health_window.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "libhotel/base/strings.h"

namespace hotel::decide {
namespace {

/// The element of `list` by that name, in front; a new one when there is none, in place of the last
/// of a full list.
template <typename List, typename Index, typename Name>
typename List::value_type& InFront(List& list, Index& index, std::string_view name,
                                   std::size_t most, Name name_of) {
  const auto found = index.find(name);
  if (found != index.end()) {
    list.splice(list.begin(), list, found->second);
    return list.front();
  }
  if (list.size() >= most) {
    index.erase(index.find(std::string_view(name_of(list.back()))));
    list.pop_back();
  }
  list.emplace_front();
  name_of(list.front()) = std::string(name);
  index.emplace(std::string(name), list.begin());
  return list.front();
}

bool InWindow(const std::optional<LastError>& error, TimePoint now) {
  return error && now - error->at <= OutcomeWindow::kLength;
}

bool WorseFirst(const ModelHealth& a, const ModelHealth& b) {
  const auto rank = [](const ModelHealth& each) {
    return std::tuple(!each.sums.failing(), -each.sums.errors, -each.sums.requests,
                      std::string_view(each.model));
  };
  return rank(a) < rank(b);
}

}  // namespace

std::int64_t OutcomeWindow::SlotOf(TimePoint now) {
  return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()) / kSlot;
}

void OutcomeWindow::Count(bool error, TimePoint now) {
  const std::int64_t number = SlotOf(now);
  Slot& slot = slots_[static_cast<std::size_t>(number) % kSlots];
  if (slot.number != number) slot = {number, 0, 0};
  ++slot.requests;
  if (error) ++slot.errors;
}

OutcomeSums OutcomeWindow::Sums(TimePoint now) const {
  const std::int64_t newest = SlotOf(now);
  OutcomeSums sums;
  for (const Slot& slot : slots_) {
    if (slot.number < 0 || slot.number > newest) continue;
    if (newest - slot.number >= static_cast<std::int64_t>(kSlots)) continue;
    sums.requests += slot.requests;
    sums.errors += slot.errors;
  }
  return sums;
}

HealthBoard::Provider& HealthBoard::FindOrAdd(std::string_view id) {
  return InFront(providers_, by_id_, id, kMostProviders,
                 [](Provider& each) -> std::string& { return each.id; });
}

HealthBoard::Model& HealthBoard::FindOrAdd(Provider& provider, std::string_view name) {
  return InFront(provider.models, provider.by_name, name, kMostModels,
                 [](Model& each) -> std::string& { return each.name; });
}

void HealthBoard::Count(std::string_view provider_id, std::string_view model,
                        const Outcome& outcome, TimePoint now) {
  Provider& provider = FindOrAdd(provider_id);
  const std::string_view name = base::TruncateUtf8(model, kMostNameBytes);
  Model& row = FindOrAdd(provider, name);
  provider.window.Count(outcome.error, now);
  row.window.Count(outcome.error, now);
  if (!outcome.error) return;
  row.last_error = {std::string(base::TruncateUtf8(outcome.text, kMostErrorBytes)), outcome.status,
                    row.name, now};
  provider.last_error = row.last_error;
}

ProviderHealth HealthBoard::Of(std::string_view provider_id, TimePoint now) const {
  ProviderHealth health;
  const auto found = by_id_.find(provider_id);
  if (found == by_id_.end()) return health;
  const Provider& provider = *found->second;
  health.sums = provider.window.Sums(now);
  if (InWindow(provider.last_error, now)) health.last_error = provider.last_error;
  for (const Model& model : provider.models) {
    const OutcomeSums sums = model.window.Sums(now);
    if (sums.requests == 0) continue;
    ModelHealth row{model.name, sums, std::nullopt};
    if (InWindow(model.last_error, now)) row.last_error = model.last_error;
    if (sums.failing()) ++health.models_failing;
    health.models.push_back(std::move(row));
  }
  health.models_total = health.models.size();
  health.degraded = health.models_failing > 0;
  std::sort(health.models.begin(), health.models.end(), WorseFirst);
  if (health.models.size() > kMostShown) health.models.resize(kMostShown);
  return health;
}

}  // namespace hotel::decide
