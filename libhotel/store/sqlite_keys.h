// The keys behind hotel::OpenKeyStore. What keys use is written through a connection of its own: it
// comes every moment and need not reach the disk at once, as an operator's change must.
#ifndef HOTEL_STORE_SQLITE_KEYS_H_
#define HOTEL_STORE_SQLITE_KEYS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/clock.h"
#include "hotel/key_store.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

class SqliteKeys final : public KeyStore {
 public:
  static absl::StatusOr<std::unique_ptr<SqliteKeys>> Open(const KeyStoreOptions& options,
                                                          const Clock* clock);

  std::shared_ptr<const KeySnapshot> Snapshot() const noexcept override;
  absl::StatusOr<NewKey> Create(const KeySpec& spec) override;
  absl::StatusOr<VirtualKey> Update(std::string_view id,
                                    const std::function<void(KeySpec*)>& edit) override;
  absl::Status Delete(std::string_view id) override;
  absl::Status ApplyFile(const std::vector<FileKey>& keys) override;
  absl::StatusOr<std::map<std::string, KeyUsage, std::less<>>> ReadUsage() override;
  absl::Status AddUsage(const std::vector<KeyCharge>& charges) override;

 private:
  SqliteKeys(std::unique_ptr<Connection> connection, std::unique_ptr<Connection> usage,
             const Clock* clock, std::vector<VirtualKey> keys);

  /// Runs `change` as one transaction over the keys as they are in the file, and publishes what
  /// they are then.
  using Change = std::function<absl::Status(Connection&, const std::vector<VirtualKey>&)>;
  absl::Status Write(const Change& change) HOTEL_EXCLUDES(writer_mutex_);

  const Clock* const clock_;
  base::Mutex writer_mutex_;
  const std::unique_ptr<Connection> connection_ HOTEL_PT_GUARDED_BY(writer_mutex_);
  base::Mutex usage_mutex_;
  const std::unique_ptr<Connection> usage_ HOTEL_PT_GUARDED_BY(usage_mutex_);
  mutable base::Mutex snapshot_mutex_;  // held for a pointer copy; taken after writer_mutex_
  std::shared_ptr<const KeySnapshot> snapshot_ HOTEL_GUARDED_BY(snapshot_mutex_);
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_SQLITE_KEYS_H_
