#include "libhotel/store/scan_rows.h"

#include <cstdint>
#include <vector>

#include "hotel/discovery.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/read_rows.h"

namespace hotel::store {
namespace {

ProviderScan ScanOf(const Statement& statement) {
  ProviderScan scan;
  scan.provider_id = statement.Text(0);
  scan.checked_at = TimeAt(statement, 1);
  scan.succeeded_at = OptionalTimeAt(statement, 2);
  scan.last_error = statement.Text(3);
  scan.stale = statement.Bool(4);
  scan.suspect_scans = static_cast<int>(statement.Integer(5));
  return scan;
}

}  // namespace

absl::StatusOr<std::vector<ProviderScan>> ReadScanRows(Connection& connection) {
  return ReadAll(connection.Query("SELECT provider_id, checked_at, succeeded_at, last_error, stale,"
                                  " suspect_scans FROM provider_scans"),
                 &ScanOf);
}

absl::Status UpsertScan(Connection& connection, const ProviderScan& scan) {
  return connection.Run(
      "INSERT INTO provider_scans (provider_id, checked_at, succeeded_at, last_error, stale,"
      " suspect_scans) SELECT id, ?, ?, ?, ?, ? FROM providers WHERE id = ?"
      " ON CONFLICT (provider_id) DO UPDATE SET checked_at = excluded.checked_at,"
      " succeeded_at = excluded.succeeded_at, last_error = excluded.last_error,"
      " stale = excluded.stale, suspect_scans = excluded.suspect_scans",
      base::FormatTime(scan.checked_at), TimeText(scan.succeeded_at), scan.last_error, scan.stale,
      std::int64_t{scan.suspect_scans}, scan.provider_id);
}

}  // namespace hotel::store
