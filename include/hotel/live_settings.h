// Options that change while the hotel runs: values set at run time, kept in the store, under the
// configuration file and the environment (decisions 3).
#ifndef HOTEL_LIVE_SETTINGS_H_
#define HOTEL_LIVE_SETTINGS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "hotel/settings.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// Who said what an option is; a later one wins over an earlier one.
enum class SettingOrigin { kDefault, kProfile, kRuntime, kFile, kEnvironment };

/// "default", "profile", "runtime", "file", "environment".
const char* SettingOriginName(SettingOrigin origin) noexcept;

/// One global option as it is now.
struct SettingInfo {
  std::string name;           ///< dotted path; the flat key of an option that has no path
  std::string flat_key;       ///< "" = none
  std::string value;          ///< as written under `name`; lists separated by commas
  std::string flat_value;     ///< as written under `flat_key`: a choice is a boolean there
  std::string default_value;  ///< of the profile, spelled like `value`
  SettingOrigin origin = SettingOrigin::kDefault;
  std::string where;    ///< "hotel.yaml:12", the variable's or profile's name, or ""
  bool pinned = false;  ///< by the file or the environment: Put answers FailedPrecondition
  bool per_provider = false;
  std::string type;   ///< "duration", "status list", ...
  std::string range;  ///< what may be written, in words
  std::string help;
};

/// The options of a running hotel. Thread-safe.
class LiveSettings : public SettingsSource {
 public:
  static constexpr std::size_t kMaxKeysPerCall = 50;
  static constexpr std::size_t kMaxValueBytes = 500;

  /// Sets options by name, dotted or flat, each value spelled as in a configuration file (lists
  /// separated by commas, "" or "none" for an empty one). All or nothing: stored durably, and in
  /// force for every decision made after the return. Setting an option by one of two spellings
  /// (`failover_on_rate_limit`, `failover.retry_on_statuses`) takes back what the other had set.
  ///
  /// InvalidArgument lists every key that is wrong, one `name: what is wrong` a line (unknown
  /// names, values out of range, values that do not go together); FailedPrecondition likewise those
  /// pinned by the file or the environment, naming the place. A failure of the store is returned as
  /// it is.
  virtual absl::Status Put(const std::vector<std::pair<std::string, std::string>>& values) = 0;

  /// Takes back values set at run time, those of `names` or all when it is empty; the same
  /// guarantees. A name that was not set is no error, an unknown one is.
  virtual absl::Status Reset(const std::vector<std::string>& names) = 0;

  /// Every option, in the order of the reference page.
  virtual std::vector<SettingInfo> List() const = 0;
};

/// One row of what was set at run time.
struct StoredSetting {
  std::string key;
  std::string value;
};

/// Where values set at run time are kept.
class SettingsStore {
 public:
  virtual ~SettingsStore() = default;
  virtual absl::StatusOr<std::vector<StoredSetting>> ReadSettings() = 0;
  /// Removes the rows `erase`, then writes `put`, in one transaction. Durable when it returns OK;
  /// nothing has changed when it fails.
  virtual absl::Status WriteSettings(const std::vector<StoredSetting>& put,
                                     const std::vector<std::string>& erase) = 0;
};

}  // namespace hotel

#endif  // HOTEL_LIVE_SETTINGS_H_
