#include "libhotel/store/sqlite_store.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <openssl/rand.h>

#include "hotel/clock.h"
#include "hotel/defaults.h"
#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/database_file.h"
#include "libhotel/store/key_cipher.h"
#include "libhotel/store/key_ring.h"
#include "libhotel/store/key_upgrade.h"
#include "libhotel/store/migrations.h"
#include "libhotel/store/snapshot_loader.h"

namespace hotel {
namespace store {
namespace {

absl::StatusOr<std::int64_t> ReadDataVersion(Connection& connection) {
  return connection.QueryInteger("PRAGMA data_version");
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const StoreOptions& options,
                                                               const Clock* clock,
                                                               KeyFormat key_format) {
  absl::StatusOr<std::unique_ptr<Connection>> connection =
      Connection::Open(options.path, options.busy_timeout);
  if (!connection.ok()) return connection.status();
  absl::Status migrated = Migrate(**connection, Migrations());
  if (!migrated.ok()) return migrated;
  Writer writer{*std::move(connection), KeyRing(KeyCipher(options.master_key, key_format)), {}};
  absl::StatusOr<std::int64_t> data_version = ReadDataVersion(*writer.connection);
  if (!data_version.ok()) return data_version.status();
  writer.data_version = *data_version;
  absl::StatusOr<std::shared_ptr<const GroupSnapshot>> first =
      LoadSnapshot(*writer.connection, writer.keys, 1);
  if (!first.ok()) return first.status();
  // What cannot be written now is read as it is, and tried again at the next start.
  static_cast<void>(SealOldKeysAnew(*writer.connection, writer.keys));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(writer), clock, *std::move(first)));
}

SqliteStore::SqliteStore(Writer writer, const Clock* clock,
                         std::shared_ptr<const GroupSnapshot> snapshot)
    : clock_(clock), writer_(std::move(writer)), snapshot_(std::move(snapshot)) {}

std::shared_ptr<const GroupSnapshot> SqliteStore::Snapshot() const noexcept {
  base::MutexLock lock(&snapshot_mutex_);
  return snapshot_;
}

absl::StatusOr<std::shared_ptr<const GroupSnapshot>> SqliteStore::Write(const Change& change) {
  base::MutexLock lock(&writer_mutex_);
  Connection& connection = *writer_.connection;
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  const std::int64_t changes = connection.total_changes();
  absl::Status status = change(writer_);
  if (!status.ok()) return status;
  absl::StatusOr<std::int64_t> data_version = ReadDataVersion(connection);
  if (!data_version.ok()) return data_version.status();
  if (connection.total_changes() == changes && *data_version == writer_.data_version) {
    return Snapshot();
  }
  absl::StatusOr<std::shared_ptr<const GroupSnapshot>> next =
      LoadSnapshot(connection, writer_.keys, Snapshot()->generation() + 1);
  if (!next.ok()) return next;
  status = transaction->Commit();
  if (!status.ok()) return status;
  writer_.data_version = *data_version;
  Publish(*next);
  return next;
}

void SqliteStore::Publish(std::shared_ptr<const GroupSnapshot> next) {
  {
    base::MutexLock lock(&snapshot_mutex_);
    snapshot_.swap(next);
  }
  // The old snapshot dies here, outside of the lock that readers take.
}

}  // namespace store

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const StoreOptions& options,
                                                       const Clock* clock) {
  if (options.path != store::kMemoryPath) {
    return store::SqliteStore::Open(options, clock, store::KeyFormat::kStored);
  }
  StoreOptions in_memory = options;
  if (in_memory.master_key.empty()) {
    // Nothing outlives the process, so a key that nobody knows will do.
    std::string random(32, '\0');
    if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()),
                   static_cast<int>(random.size())) != 1) {
      return absl::UnavailableError("the system's random source failed");
    }
    in_memory.master_key = Secret(random);
  }
  return store::SqliteStore::Open(in_memory, clock, store::KeyFormat::kTransient);
}

}  // namespace hotel
