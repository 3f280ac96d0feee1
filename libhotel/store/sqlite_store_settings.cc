// SqliteStore: values set at run time. They are no part of the group snapshot, so changing them
// does not build a new one.
#include <string>
#include <vector>

#include "hotel/live_settings.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/setting_rows.h"
#include "libhotel/store/sqlite_store.h"

namespace hotel::store {

absl::StatusOr<std::vector<StoredSetting>> SqliteStore::ReadSettings() {
  base::MutexLock lock(&writer_mutex_);
  return ReadSettingRows(*writer_.connection);
}

absl::Status SqliteStore::WriteSettings(const std::vector<StoredSetting>& put,
                                        const std::vector<std::string>& erase) {
  base::MutexLock lock(&writer_mutex_);
  Connection& connection = *writer_.connection;
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  for (const std::string& key : erase) {
    if (absl::Status status = DeleteSetting(connection, key); !status.ok()) return status;
  }
  for (const StoredSetting& row : put) {
    absl::Status status = UpsertSetting(connection, row, clock_->WallNow());
    if (!status.ok()) return status;
  }
  return transaction->Commit();
}

}  // namespace hotel::store
