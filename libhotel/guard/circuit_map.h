// The circuits of all providers: provider id -> model -> circuit, bounded per provider.
//
// Not thread-safe; guarded by its owner. The atomic fields of an entry may change while the owner
// holds its lock for reading only.
#ifndef HOTEL_GUARD_CIRCUIT_MAP_H_
#define HOTEL_GUARD_CIRCUIT_MAP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hotel/types.h"

#include "libhotel/base/string_hash.h"
#include "libhotel/decide/circuit.h"

namespace hotel::guard {

class CircuitMap {
 public:
  static constexpr TimePoint::rep kNever = std::numeric_limits<TimePoint::rep>::min();

  struct Entry {
    decide::Circuit circuit;
    std::string_view model;  ///< the key of the entry
    std::uint64_t slot = 0;  ///< never used again; the permits counted here carry it
    std::optional<TimePoint> last_charged;
    mutable std::atomic<int> in_flight{0};
    mutable std::atomic<TimePoint::rep> last_used{kNever};
    mutable std::atomic<TimePoint::rep> last_success{kNever};

    void Use(TimePoint now) const noexcept {
      last_used.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
    void Succeed(TimePoint now) const noexcept {
      last_success.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
    std::optional<TimePoint> success() const noexcept {
      const TimePoint::rep at = last_success.load(std::memory_order_relaxed);
      if (at == kNever) return std::nullopt;
      return TimePoint(Duration(at));
    }
  };

  struct Provider {
    std::string_view id;  ///< the key of the provider
    std::string name;     ///< routing form, as last seen
    std::unordered_map<std::string, Entry, base::StringHash, base::StringEqual> entries;
    /// Those whose stored state is open: the provider's verdict looks at no others.
    std::vector<Entry*> open;
    /// The generation of a circuit that has no entry, and of an entry when it is made. Higher than
    /// that of any circuit of this provider that was dropped, so that a permit from before the drop
    /// can be told from one behind it.
    std::uint64_t absent_generation = 1;

    Entry* Find(std::string_view model) noexcept;
    const Entry* Find(std::string_view model) const noexcept;
    /// Keeps `open` in step. To be called whenever the state of an entry may have changed.
    void Sync(Entry& entry);
    /// Drops a circuit; permits given for it before count no more.
    void Erase(Entry& entry);
    /// Drops a circuit that never gave permits.
    void EraseQuietly(Entry& entry);
    void EraseAll();
  };
  using Providers = std::unordered_map<std::string, Provider, base::StringHash, base::StringEqual>;

  /// Null when there is none. Does not allocate.
  Provider* Find(std::string_view provider_id) noexcept;
  const Provider* Find(std::string_view provider_id) const noexcept;

  /// What to do when a provider has `max` circuits.
  enum class Room {
    kIfFree,  ///< no new one
    kCharge,  ///< the least recently charged idle closed one goes; when there is none the map grows
    kReject,  ///< first those go that were idle for ten minutes (R67), then the oldest idle closed
              ///< one (R68); when there is none, no new one (R70)
  };
  /// A new entry for a key that has none; null when there is no room for it.
  Entry* Insert(Provider& provider, std::string_view model, Room room, std::size_t max,
                TimePoint now);
  /// The provider, made when it is new; `name` becomes its name.
  Provider& Obtain(std::string_view provider_id, std::string_view name);

  Providers& providers() noexcept { return providers_; }
  const Providers& providers() const noexcept { return providers_; }

 private:
  Providers providers_;
  std::uint64_t next_slot_ = 1;
};

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_CIRCUIT_MAP_H_
