// The circuits of all providers: provider id -> model -> circuit, bounded per provider.
//
// Not thread-safe; guarded by its owner.
#ifndef HOTEL_GUARD_CIRCUIT_MAP_H_
#define HOTEL_GUARD_CIRCUIT_MAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "hotel/circuit_breaker.h"
#include "hotel/types.h"

#include "libhotel/decide/breaker_core.h"

namespace hotel::guard {

class CircuitMap {
 public:
  /// Closed circuits beyond this number make room for new ones, per provider.
  static constexpr std::size_t kMaxPerProvider = 256;

  struct Entry {
    decide::Circuit circuit;
    std::string provider_name;
    std::optional<TimePoint> last_charged;
    std::optional<TimePoint> last_success;
  };
  struct Models {
    std::unordered_map<std::string, Entry> entries;
    /// The generation of a circuit that has no entry, and of an entry when it is made. Higher than
    /// that of any circuit of this provider that was dropped, so that a permit from before the drop
    /// can be told from one behind it.
    std::uint64_t absent_generation = 1;
  };

  /// Null when there is none. Does not allocate.
  Entry* Find(const CircuitKey& key) noexcept;
  const Entry* Find(const CircuitKey& key) const noexcept;

  /// The generation a permit for a circuit without entry carries.
  std::uint64_t AbsentGeneration(const CircuitKey& key) const noexcept;

  /// A new entry for a key that has none; null when the provider is full and `evict` is false. With
  /// `evict` the least recently charged closed circuit goes; when none is closed the map grows.
  Entry* Insert(const CircuitKey& key, bool evict);

  /// Drops one circuit, or all of the provider.
  void Erase(const std::string& provider_id, const std::string& model);
  void EraseAll(const std::string& provider_id);

  const std::unordered_map<std::string, Models>& providers() const noexcept { return providers_; }

 private:
  static void EvictOne(Models& models);

  std::unordered_map<std::string, Models> providers_;
};

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_CIRCUIT_MAP_H_
