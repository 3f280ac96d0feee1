#include "tests/unit/store/fault_vfs.h"

#include <mutex>
#include <stdexcept>

#include <sqlite3.h>

namespace hotel::store {
namespace {

// A VFS is found by SQLite through C structures, so its state is one per process.
struct State {
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs shim{};
  int countdown = 0;  // 0 = healthy
  bool stays = false;
  FaultVfs::Disk disk = FaultVfs::Disk::kFull;
  int failures = 0;
};
State g_state;
std::mutex g_mutex;  // of the counters: a log writes on a thread of its own

/// SQLITE_OK, or the code with which the operation must fail.
int Judge(int io_error, bool is_write) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  State& state = g_state;
  if (state.countdown == 0) return SQLITE_OK;
  const bool full = state.disk == FaultVfs::Disk::kFull;
  if (full && !is_write) return SQLITE_OK;
  if (state.countdown > 1) {
    --state.countdown;
    return SQLITE_OK;
  }
  if (!state.stays) state.countdown = 0;
  ++state.failures;
  return full ? SQLITE_FULL : io_error;
}

// The system's file object lies behind this one, in the space SQLite gives us.
struct ShimFile {
  sqlite3_file base;
};
sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<ShimFile*>(file) + 1);
}

int Close(sqlite3_file* f) { return Real(f)->pMethods->xClose(Real(f)); }
int Read(sqlite3_file* f, void* out, int size, sqlite3_int64 at) {
  return Real(f)->pMethods->xRead(Real(f), out, size, at);
}
int Write(sqlite3_file* f, const void* in, int size, sqlite3_int64 at) {
  const int code = Judge(SQLITE_IOERR_WRITE, true);
  return code != SQLITE_OK ? code : Real(f)->pMethods->xWrite(Real(f), in, size, at);
}
int Truncate(sqlite3_file* f, sqlite3_int64 size) {
  const int code = Judge(SQLITE_IOERR_TRUNCATE, false);
  return code != SQLITE_OK ? code : Real(f)->pMethods->xTruncate(Real(f), size);
}
int Sync(sqlite3_file* f, int flags) {
  const int code = Judge(SQLITE_IOERR_FSYNC, false);
  return code != SQLITE_OK ? code : Real(f)->pMethods->xSync(Real(f), flags);
}
int FileSize(sqlite3_file* f, sqlite3_int64* size) {
  return Real(f)->pMethods->xFileSize(Real(f), size);
}
int Lock(sqlite3_file* f, int level) { return Real(f)->pMethods->xLock(Real(f), level); }
int Unlock(sqlite3_file* f, int level) { return Real(f)->pMethods->xUnlock(Real(f), level); }
int CheckReserved(sqlite3_file* f, int* out) {
  return Real(f)->pMethods->xCheckReservedLock(Real(f), out);
}
int FileControl(sqlite3_file* f, int op, void* arg) {
  return Real(f)->pMethods->xFileControl(Real(f), op, arg);
}
int SectorSize(sqlite3_file* f) { return Real(f)->pMethods->xSectorSize(Real(f)); }
int Characteristics(sqlite3_file* f) { return Real(f)->pMethods->xDeviceCharacteristics(Real(f)); }
int ShmMap(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return Real(f)->pMethods->xShmMap(Real(f), page, size, extend, out);
}
int ShmLock(sqlite3_file* f, int offset, int n, int flags) {
  return Real(f)->pMethods->xShmLock(Real(f), offset, n, flags);
}
void ShmBarrier(sqlite3_file* f) { Real(f)->pMethods->xShmBarrier(Real(f)); }
int ShmUnmap(sqlite3_file* f, int remove) { return Real(f)->pMethods->xShmUnmap(Real(f), remove); }

const sqlite3_io_methods kMethods = {
    2,        Close,         Read,        Write,      Truncate,        Sync,   FileSize, Lock,
    Unlock,   CheckReserved, FileControl, SectorSize, Characteristics, ShmMap, ShmLock,  ShmBarrier,
    ShmUnmap, nullptr,       nullptr};

int Open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  int code = Judge(SQLITE_CANTOPEN, false);
  if (code != SQLITE_OK) return code;
  code = g_state.real->xOpen(g_state.real, name, Real(file), flags, out_flags);
  if (code == SQLITE_OK) file->pMethods = &kMethods;
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync_directory) {
  const int code = Judge(SQLITE_IOERR_DELETE, false);
  return code != SQLITE_OK ? code : g_state.real->xDelete(g_state.real, name, sync_directory);
}

}  // namespace

FaultVfs::FaultVfs() {
  g_state = State{};
  g_state.real = sqlite3_vfs_find(nullptr);
  if (g_state.real == nullptr) throw std::runtime_error("SQLite has no default VFS");
  g_state.shim = *g_state.real;
  g_state.shim.zName = "hotel-fault";
  g_state.shim.szOsFile += static_cast<int>(sizeof(ShimFile));
  g_state.shim.xOpen = Open;
  g_state.shim.xDelete = Delete;
  sqlite3_vfs_register(&g_state.shim, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&g_state.shim);
  sqlite3_vfs_register(g_state.real, 1);
}

void FaultVfs::FailAt(int nth, Disk disk, bool stays) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_state.countdown = nth;
  g_state.disk = disk;
  g_state.stays = stays;
  g_state.failures = 0;
}

void FaultVfs::Heal() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_state.countdown = 0;
}

int FaultVfs::failures() const {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return g_state.failures;
}

}  // namespace hotel::store
