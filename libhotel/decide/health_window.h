// How the requests of the last ten minutes went, by provider and model (R78, R79, R82).
//
// Pure: told what happened and when, asked what that adds up to. Circuits say who may be asked;
// this says what an operator should look at, also where statuses never charge a circuit.
#ifndef HOTEL_DECIDE_HEALTH_WINDOW_H_
#define HOTEL_DECIDE_HEALTH_WINDOW_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/types.h"

namespace hotel::decide {

/// What one attempt at a provider's model came to.
struct Outcome {
  bool error = false;
  int status = 0;         ///< of the provider, 0 = none was seen
  std::string_view text;  ///< of an error: sanitized and masked by the caller
};

struct OutcomeSums {
  std::int64_t requests = 0;
  std::int64_t errors = 0;

  /// At least three errors that are at least half of the requests (R79).
  bool failing() const noexcept { return errors >= 3 && 2 * errors >= requests; }
};

/// Sums over a window that slides by ten seconds: what is counted at an instant is forgotten
/// between ten minutes and ten minutes and ten seconds later.
class OutcomeWindow {
 public:
  static constexpr std::chrono::seconds kSlot{10};
  static constexpr std::chrono::minutes kLength{10};

  void Count(bool error, TimePoint now);
  OutcomeSums Sums(TimePoint now) const;

 private:
  static constexpr std::size_t kSlots = kLength / kSlot + 1;  // the running one on top
  static std::int64_t SlotOf(TimePoint now);

  struct Slot {
    std::int64_t number = -1;  ///< -1 = never used
    std::uint32_t requests = 0;
    std::uint32_t errors = 0;
  };
  std::array<Slot, kSlots> slots_;
};

struct LastError {
  std::string text;  ///< cut to HealthBoard::kMostErrorBytes on a character boundary
  int status = 0;
  std::string model;
  TimePoint at{};
};

struct ModelHealth {
  std::string model;
  OutcomeSums sums;
  std::optional<LastError> last_error;
};

struct ProviderHealth {
  OutcomeSums sums;       ///< of all its models
  bool degraded = false;  ///< one of its models is failing
  /// Those with requests in the window: the failing ones first, then by errors, requests and name;
  /// at most HealthBoard::kMostShown.
  std::vector<ModelHealth> models;
  std::size_t models_total = 0;
  std::size_t models_failing = 0;
  std::optional<LastError> last_error;  ///< of the window, over all models
};

/// Windows of all providers. What is kept is bounded: per provider the models that were asked last,
/// providers as many as were asked last.
class HealthBoard {
 public:
  static constexpr std::size_t kMostProviders = 512;
  static constexpr std::size_t kMostModels = 256;  ///< per provider
  static constexpr std::size_t kMostShown = 25;
  static constexpr std::size_t kMostErrorBytes = 160;
  static constexpr std::size_t kMostNameBytes = 256;

  void Count(std::string_view provider_id, std::string_view model, const Outcome& outcome,
             TimePoint now);
  ProviderHealth Of(std::string_view provider_id, TimePoint now) const;

 private:
  struct Model {
    std::string name;
    OutcomeWindow window;
    std::optional<LastError> last_error;
  };
  struct Provider {
    std::string id;
    OutcomeWindow window;
    std::optional<LastError> last_error;
    std::list<Model> models;  // asked last, first
    std::map<std::string, std::list<Model>::iterator, std::less<>> by_name;
  };

  Provider& FindOrAdd(std::string_view id);
  static Model& FindOrAdd(Provider& provider, std::string_view name);

  std::list<Provider> providers_;  // asked last, first
  std::map<std::string, std::list<Provider>::iterator, std::less<>> by_id_;
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_HEALTH_WINDOW_H_
