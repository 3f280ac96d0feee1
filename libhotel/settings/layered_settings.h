// The settings of a running hotel: the layers of the configuration with the values set at run time
// between them.
#ifndef HOTEL_SETTINGS_LAYERED_SETTINGS_H_
#define HOTEL_SETTINGS_LAYERED_SETTINGS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotel/live_settings.h"
#include "hotel/settings.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/settings/layers.h"

namespace hotel::settings {

/// A stored value that is not used, and why.
struct IgnoredSetting {
  std::string key;
  std::string reason;
};

class LayeredSettings final : public LiveSettings {
 public:
  /// Reads what is stored. A row that is unknown, out of range by now, or at odds with the
  /// configuration stays in the store, has no effect and is put into `ignored`; one that the
  /// configuration pins waits under it. `layers` must be free of errors; `store` must outlive this
  /// object. Fails when the store cannot be read.
  static absl::StatusOr<std::unique_ptr<LayeredSettings>> Open(
      Layers layers, SettingsStore* store, std::vector<IgnoredSetting>* ignored);

  /// Called behind every Put and Reset that went well, with the options in force and no lock held,
  /// on the thread that made it. Set once, before the first change.
  void OnChange(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  std::shared_ptr<const Settings> Current() const noexcept override;
  std::uint64_t Generation() const noexcept override {
    return generation_.load(std::memory_order_acquire);
  }
  absl::Status Put(const std::vector<std::pair<std::string, std::string>>& values) override
      HOTEL_EXCLUDES(writer_mutex_);
  absl::Status Reset(const std::vector<std::string>& names) override HOTEL_EXCLUDES(writer_mutex_);
  std::vector<SettingInfo> List() const override;

 private:
  /// What is in force; immutable once published.
  struct State {
    Layers layers;
    Settings settings;
  };
  LayeredSettings(Layers layers, SettingsStore* store);

  std::shared_ptr<const State> Snapshot() const noexcept;
  absl::Status PutLocked(const std::vector<std::pair<std::string, std::string>>& values)
      HOTEL_REQUIRES(writer_mutex_);
  absl::Status ResetLocked(const std::vector<std::string>& names) HOTEL_REQUIRES(writer_mutex_);
  /// Stores the change and publishes `layers`.
  absl::Status Commit(Layers layers, const std::vector<StoredSetting>& put,
                      const std::vector<std::string>& erase) HOTEL_REQUIRES(writer_mutex_);
  void Publish(Layers layers);
  /// The stored keys that `option` or another spelling of it goes by.
  std::vector<std::string> StoredKeys(const Option& option) const HOTEL_REQUIRES(writer_mutex_);

  SettingsStore* const store_;
  std::function<void()> on_change_;
  std::atomic<std::uint64_t> generation_{0};  // of state_, stored behind it
  base::Mutex writer_mutex_;
  /// Keys in the store; null = of no option that is known.
  std::map<std::string, const Option*, std::less<>> stored_ HOTEL_GUARDED_BY(writer_mutex_);
  mutable base::Mutex state_mutex_;  // held for a pointer copy; taken after writer_mutex_
  std::shared_ptr<const State> state_ HOTEL_GUARDED_BY(state_mutex_);
};

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_LAYERED_SETTINGS_H_
