// Where virtual keys live.
//
// The request path sees one immutable `KeySnapshot`; every accepted change publishes a new one. A
// key itself is shown once, when it is made; what is kept is its SHA-256 (facts o).
#ifndef HOTEL_KEY_STORE_H_
#define HOTEL_KEY_STORE_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/clock.h"
#include "hotel/types.h"
#include "hotel/virtual_key.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// All keys, frozen. Returned pointers live as long as the snapshot.
class KeySnapshot {
 public:
  explicit KeySnapshot(std::vector<VirtualKey> keys);
  ~KeySnapshot();
  KeySnapshot(const KeySnapshot&) = delete;
  KeySnapshot& operator=(const KeySnapshot&) = delete;

  /// In the order they were made.
  const std::vector<VirtualKey>& keys() const noexcept { return keys_; }

  /// Who presents `key`, if it is known and enabled. What is compared are digests, so the time it
  /// takes tells nothing about the keys there are.
  const VirtualKey* FindKey(std::string_view key) const;
  const VirtualKey* FindById(std::string_view id) const noexcept;

 private:
  struct Index;
  std::vector<VirtualKey> keys_;
  std::unique_ptr<Index> index_;
};

/// A key as the configuration file describes it.
struct FileKey {
  KeySpec spec;
  Secret key;
  /// Where it stands, for the message when it cannot be taken: "hotel.yaml:12: virtual_keys[0]".
  std::string place{};
};

struct NewKey {
  VirtualKey row;
  Secret key;  ///< "sk-" and 32 hex digits; never shown again
};

/// Adds to what a key has used.
struct KeyCharge {
  std::string key_id;
  KeyUsage usage;
};

/// Where keys live. All methods are thread-safe. Reads never wait for the disk; writes do, and
/// return after the change is durable and the new snapshot is published.
///
/// Errors: InvalidArgument with a sentence that says what is allowed, NotFound "virtual key not
/// found", AlreadyExists "a virtual key named '<name>' already exists", FailedPrecondition for a
/// key that stands in the configuration file, Unavailable when the storage cannot be written right
/// now (locked, full); then nothing changed.
class KeyStore {
 public:
  virtual ~KeyStore() = default;

  /// Never null.
  virtual std::shared_ptr<const KeySnapshot> Snapshot() const noexcept = 0;

  virtual absl::StatusOr<NewKey> Create(const KeySpec& spec) = 0;
  /// Changes what `edit` changes. It sees the key as it is, with nobody writing in between.
  virtual absl::StatusOr<VirtualKey> Update(std::string_view id,
                                            const std::function<void(KeySpec*)>& edit) = 0;
  virtual absl::Status Delete(std::string_view id) = 0;

  /// Makes the keys of the file be there as they are described, under the ids that keys of these
  /// names have; what they used stays. Keys that came from a file and are not in it any more are
  /// switched off and can be changed again. An error begins with the place of its key, if it has
  /// one.
  virtual absl::Status ApplyFile(const std::vector<FileKey>& keys) = 0;

  /// What every key has used so far, by id, as it was written last.
  virtual absl::StatusOr<std::map<std::string, KeyUsage, std::less<>>> ReadUsage() = 0;
  /// Adds all of it, or nothing. What names a key that is gone is dropped.
  virtual absl::Status AddUsage(const std::vector<KeyCharge>& charges) = 0;
};

struct KeyStoreOptions {
  /// The database file; usually that of the store. Created and brought up to date as by
  /// OpenSqliteStore.
  std::string path;
  /// How long a write waits for another process's lock.
  Duration busy_timeout = std::chrono::seconds(5);
};

/// Opens the keys. `clock` must outlive the store. Errors as OpenSqliteStore.
absl::StatusOr<std::unique_ptr<KeyStore>> OpenKeyStore(const KeyStoreOptions& options,
                                                       const Clock* clock);

}  // namespace hotel

#endif  // HOTEL_KEY_STORE_H_
