#include "libhotel/store/setting_rows.h"

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

absl::StatusOr<std::vector<StoredSetting>> ReadSettingRows(Connection& connection) {
  absl::StatusOr<Statement> statement =
      connection.Query("SELECT key, value FROM settings ORDER BY key");
  if (!statement.ok()) return statement.status();
  std::vector<StoredSetting> rows;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    rows.push_back({statement->Text(0), statement->Text(1)});
  }
}

absl::Status UpsertSetting(Connection& connection, const StoredSetting& row, WallTime now) {
  return connection.Run(
      "INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)"
      " ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
      row.key, row.value, base::FormatTime(now));
}

absl::Status DeleteSetting(Connection& connection, std::string_view key) {
  return connection.Run("DELETE FROM settings WHERE key = ?", key);
}

}  // namespace hotel::store
