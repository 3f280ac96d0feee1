// The current settings without a counted reference: a shared_ptr that every thread copies on every
// request is one more cache line they fight for.
#ifndef HOTEL_GUARD_SETTINGS_CACHE_H_
#define HOTEL_GUARD_SETTINGS_CACHE_H_

#include <cstdint>

#include "hotel/settings.h"

namespace hotel::guard {

/// Thread-safe. Each thread keeps the last snapshot it saw, and asks for a new one when the source
/// says that there is one.
class SettingsCache {
 public:
  /// `source` must outlive this object.
  explicit SettingsCache(const SettingsSource* source);

  /// The current settings. Valid on this thread until it asks any cache again, so until the next
  /// call into foreign code.
  const Settings& Current() const noexcept;

 private:
  const SettingsSource* source_;
  const std::uint64_t id_;  // never used again, unlike an address
};

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_SETTINGS_CACHE_H_
