// The schema, as numbered steps from an empty file to the current version.
#ifndef HOTEL_STORE_MIGRATIONS_H_
#define HOTEL_STORE_MIGRATIONS_H_

#include <span>

#include "absl/status/status.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// Marks a SQLite file as one of ours ("Hotl"), in its `application_id`.
inline constexpr int kApplicationId = 0x486f746c;

/// One step. The first takes version 0 (an empty file) to 1, the second 1 to 2, ... Steps that have
/// been released never change.
struct Migration {
  const char* name;
  const char* sql;
};

/// Every step there is, in order.
std::span<const Migration> Migrations();

/// Runs the steps the file has not seen, each in a transaction of its own that also raises
/// `PRAGMA user_version`. FailedPrecondition when the file is of a later version than the last step
/// or belongs to another program; then it is untouched. Safe against another process doing the
/// same.
absl::Status Migrate(Connection& connection, std::span<const Migration> steps);

}  // namespace hotel::store

#endif  // HOTEL_STORE_MIGRATIONS_H_
