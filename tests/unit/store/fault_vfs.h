// SQLite's view of a failing disk: a VFS in front of the system's that fails chosen operations.
#ifndef HOTEL_TESTS_UNIT_STORE_FAULT_VFS_H_
#define HOTEL_TESTS_UNIT_STORE_FAULT_VFS_H_

#include <sqlite3.h>

namespace hotel::store {

/// While it lives, every database opened by the process goes through it. One at a time, made and
/// destroyed while no database is open on another thread. Counted operations: open, write, sync,
/// truncate, delete.
class FaultVfs {
 public:
  enum class Disk {
    kFull,    ///< writes fail with SQLITE_FULL, the rest works
    kBroken,  ///< every counted operation fails with its I/O error
  };

  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  /// The `nth` operation from now (1 = the next) fails, and with `stays` all after it.
  void FailAt(int nth, Disk disk, bool stays);
  /// Ends all failing.
  void Heal();
  /// Operations that were made to fail since FailAt.
  int failures() const;
};

}  // namespace hotel::store

#endif  // HOTEL_TESTS_UNIT_STORE_FAULT_VFS_H_
