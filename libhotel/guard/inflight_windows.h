// The windows of the limiter: providers in shards with a lock each; idle ones are dropped.
#ifndef HOTEL_GUARD_INFLIGHT_WINDOWS_H_
#define HOTEL_GUARD_INFLIGHT_WINDOWS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hotel/inflight_limiter.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/base/mutex.h"
#include "libhotel/base/string_hash.h"
#include "libhotel/decide/inflight_core.h"
#include "libhotel/guard/slot_line.h"

namespace hotel::guard {

struct WindowShard;

/// One provider. Its address is stable while it has slots out or somebody in line. Guarded by the
/// lock of its shard, but for `shard`, which never changes.
struct ProviderWindow {
  WindowShard* shard = nullptr;
  std::string name;
  int max_in_flight = 0;
  decide::Window window;
  TimePoint latest{};  ///< time as this provider has seen it; never goes back
  SlotLine line;

  /// Moves time on; returns the instant to decide by.
  TimePoint Advance(TimePoint now) noexcept;
  /// Takes over what the caller knows of the provider.
  void Describe(const InflightTarget& target);
  bool Admits(const InflightLimiterSettings& settings) const noexcept;
  /// True when a new one would tell the same.
  bool Idle(const InflightLimiterSettings& settings, TimePoint now) const noexcept;
};

struct alignas(64) WindowShard {
  // A shard with fewer providers is not searched for idle ones.
  static constexpr std::size_t kMinSweep = 16;

  mutable base::Mutex mutex;
  std::unordered_map<std::string, ProviderWindow, base::StringHash, base::StringEqual> windows
      HOTEL_GUARDED_BY(mutex);
  std::size_t sweep_at HOTEL_GUARDED_BY(mutex) = kMinSweep;

  /// The provider's window, made when there is none, described by `target`.
  ProviderWindow& FindOrMake(const InflightTarget& target, const Settings& settings, TimePoint now)
      HOTEL_REQUIRES(mutex);
  /// Drops the idle ones.
  void Sweep(const Settings& settings, TimePoint now) HOTEL_REQUIRES(mutex);
};

/// The options in force for a provider, by its name.
inline const InflightLimiterSettings& InflightOptions(const Settings& settings,
                                                      std::string_view name) noexcept {
  return settings.For(name).inflight_limiter;
}

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_INFLIGHT_WINDOWS_H_
