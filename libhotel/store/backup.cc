#include "libhotel/store/backup.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libhotel/store/migrations.h"
#include "libhotel/store/sqlite_status.h"

namespace hotel::store {
namespace {

std::string SystemText() { return std::generic_category().message(errno); }

absl::Status DiskRefused(std::string_view what, const std::string& path) {
  return absl::UnavailableError(fmt::format("cannot {} {}: {}", what, path, SystemText()));
}

bool Exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

/// Until it is told to keep it, a file that is deleted in the end, with what SQLite puts beside it.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) { Remove(); }
  ~Unfinished() {
    if (!kept_) Remove();
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  const std::string& path() const { return path_; }
  void Keep() { kept_ = true; }

 private:
  void Remove() {
    for (const char* const end : {"", "-wal", "-shm", "-journal"}) ::unlink((path_ + end).c_str());
  }
  const std::string path_;
  bool kept_ = false;
};

/// A connection of its own kind: it changes nothing of the file it is opened for but what it is
/// told to, not even how that keeps its journal.
class File {
 public:
  static absl::StatusOr<File> Open(const std::string& path, int flags, Duration busy_timeout) {
    sqlite3* db = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_EXRESCODE, nullptr);
    File file(db, path);
    if (code != SQLITE_OK) return file.Error(code);
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(busy_timeout).count();
    sqlite3_busy_timeout(
        db, static_cast<int>(std::clamp<std::int64_t>(wait, 0, std::numeric_limits<int>::max())));
    return file;
  }

  sqlite3* get() const { return db_.get(); }

  absl::Status Error(int code) const {
    return SqliteStatus(code, db_ == nullptr ? "" : sqlite3_errmsg(db_.get()), path_);
  }

  absl::Status Run(const char* sql) const {
    const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? absl::OkStatus() : Error(code);
  }

  /// The first column of the first row, as text.
  absl::StatusOr<std::string> Ask(const char* sql) const {
    sqlite3_stmt* raw = nullptr;
    int code = sqlite3_prepare_v2(db_.get(), sql, -1, &raw, nullptr);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, &sqlite3_finalize);
    if (code != SQLITE_OK) return Error(code);
    code = sqlite3_step(raw);
    if (code == SQLITE_DONE) return std::string();
    if (code != SQLITE_ROW) return Error(code);
    const unsigned char* const text = sqlite3_column_text(raw, 0);
    return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
  }

  absl::StatusOr<std::int64_t> AskNumber(const char* sql) const {
    auto text = Ask(sql);
    if (!text.ok()) return text.status();
    return std::strtoll(text->c_str(), nullptr, 10);
  }

 private:
  File(sqlite3* db, std::string path) : db_(db, &sqlite3_close), path_(std::move(path)) {}
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> db_;
  std::string path_;
};

absl::Status NoSuchFile(const std::string& path) {
  return absl::InvalidArgumentError(fmt::format("there is no database {}", path));
}

absl::StatusOr<DatabaseFacts> FactsOf(const File& file, const std::string& path) {
  DatabaseFacts facts;
  facts.newest = static_cast<int>(Migrations().size());
  const auto application = file.AskNumber("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplicationId) {
    return absl::FailedPreconditionError(fmt::format("{} is a database of another program", path));
  }
  const auto version = file.AskNumber("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version < 1 || *version > facts.newest) {
    return absl::FailedPreconditionError(
        fmt::format("{} is of schema version {}, this program knows versions up to {}: use the "
                    "program that made it",
                    path, *version, facts.newest));
  }
  facts.version = static_cast<int>(*version);
  return facts;
}

absl::StatusOr<DatabaseFacts> Check(const File& file, const std::string& path) {
  auto facts = FactsOf(file, path);
  if (!facts.ok()) return facts;
  const auto found = file.Ask("PRAGMA integrity_check(1)");
  if (!found.ok()) return found.status();
  if (*found != "ok") {
    return absl::DataLossError(fmt::format("{} is damaged: {}", path, *found));
  }
  const auto pages = file.AskNumber("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  const auto page = file.AskNumber("PRAGMA page_size");
  if (!page.ok()) return page.status();
  facts->bytes = *pages * *page;
  return facts;
}

/// All pages in one go: readers and the writer of a write-ahead log do not wait for each other, and
/// a copy in pieces would begin anew with every write in between.
absl::Status CopyPages(const File& from, const File& to, Duration busy_timeout) {
  const auto until = std::chrono::steady_clock::now() + busy_timeout;
  const auto busy = [&until](int code) {
    return (code == SQLITE_BUSY || code == SQLITE_LOCKED) &&
           std::chrono::steady_clock::now() < until;
  };

  sqlite3_backup* const backup = sqlite3_backup_init(to.get(), "main", from.get(), "main");
  if (backup == nullptr) return to.Error(sqlite3_errcode(to.get()));
  int code;
  do {
    code = sqlite3_backup_step(backup, -1);
    // Somebody holds all of it for himself; SQLite's own timeout does not wait here.
    if (busy(code)) sqlite3_sleep(20);
  } while (busy(code));
  const int end = sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) return from.Error(code);
  return end == SQLITE_OK ? absl::OkStatus() : to.Error(end);
}

absl::Status LeaveOutLogs(const File& file) {
  for (const char* const table :
       {"request_logs", "request_attempts", "request_segments", "request_columns"}) {
    const std::string exists = fmt::format(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '{}'", table);
    const auto there = file.AskNumber(exists.c_str());
    if (!there.ok()) return there.status();
    if (*there == 0) continue;  // of an earlier version
    if (auto gone = file.Run(fmt::format("DELETE FROM {}", table).c_str()); !gone.ok()) return gone;
  }
  return file.Run("VACUUM");
}

absl::Status Sync(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return DiskRefused("write", path);
  const int synced = ::fsync(file);
  ::close(file);
  return synced == 0 ? absl::OkStatus() : DiskRefused("write", path);
}

std::string DirectoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A whole, checked copy under a passing name.
absl::StatusOr<DatabaseFacts> CopyTo(const std::string& from, const std::string& passing,
                                     const BackupOptions& options, int flags) {
  if (!Exists(from)) return NoSuchFile(from);
  auto source = File::Open(from, flags, options.busy_timeout);
  if (!source.ok()) return source.status();
  if (auto facts = FactsOf(*source, from); !facts.ok()) return facts;
  const int made = ::open(passing.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return DiskRefused("create", passing);
  ::close(made);
  DatabaseFacts facts;
  {
    auto target = File::Open(passing, SQLITE_OPEN_READWRITE, options.busy_timeout);
    if (!target.ok()) return target.status();
    if (auto copied = CopyPages(*source, *target, options.busy_timeout); !copied.ok())
      return copied;
    // One file, also where that it comes from has a log beside it.
    if (auto single = target->Run("PRAGMA journal_mode = DELETE"); !single.ok()) return single;
    if (options.without_logs) {
      if (auto left_out = LeaveOutLogs(*target); !left_out.ok()) return left_out;
    }
    auto checked = Check(*target, from);
    if (!checked.ok()) return checked;
    facts = *checked;
  }
  if (auto synced = Sync(passing, O_RDWR); !synced.ok()) return synced;
  return facts;
}

/// Takes what is in the log beside the database into it, where that can be done.
void FoldLog(const std::string& path) {
  const auto file = File::Open(path, SQLITE_OPEN_READWRITE, Duration::zero());
  if (file.ok()) file->Run("PRAGMA wal_checkpoint(TRUNCATE)").IgnoreError();
}

/// Moves the database's log, or nothing, to that of `kept`: SQLite would add it to whatever stands
/// under the database's name.
absl::Status MoveLog(const std::string& path, const std::string& kept) {
  ::unlink((path + "-shm").c_str());
  const std::string log = path + "-wal";
  if (::rename(log.c_str(), (kept + "-wal").c_str()) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return DiskRefused("move", log);
}

}  // namespace

absl::StatusOr<DatabaseFacts> CheckDatabase(const std::string& path) {
  if (!Exists(path)) return NoSuchFile(path);
  auto file = File::Open(path, SQLITE_OPEN_READONLY, Duration::zero());
  if (!file.ok()) return file.status();
  return Check(*file, path);
}

absl::Status ProbeDatabase(const std::string& path, Duration busy_timeout) {
  if (!Exists(path)) return absl::UnavailableError(fmt::format("{} is gone", path));
  auto file = File::Open(path, SQLITE_OPEN_READWRITE, busy_timeout);
  if (!file.ok()) return file.status();
  const auto tables = file->AskNumber("SELECT count(*) FROM sqlite_schema WHERE type = 'table'");
  if (!tables.ok()) return tables.status();
  if (*tables == 0) return absl::DataLossError(fmt::format("{} is empty", path));
  return absl::OkStatus();
}

absl::StatusOr<DatabaseFacts> BackUpDatabase(const std::string& from, const std::string& to,
                                             const BackupOptions& options) {
  const auto taken = [&to] {
    return absl::AlreadyExistsError(fmt::format("{} exists; name another file", to));
  };
  if (Exists(to)) return taken();
  Unfinished passing(to + ".part");
  auto facts = CopyTo(from, passing.path(), options, SQLITE_OPEN_READWRITE);
  if (!facts.ok()) return facts;
  // Unlike rename, this fails where a file has come to stand meanwhile.
  if (::link(passing.path().c_str(), to.c_str()) != 0) {
    return errno == EEXIST ? taken() : DiskRefused("create", to);
  }
  if (auto synced = Sync(DirectoryOf(to), O_RDONLY | O_DIRECTORY); !synced.ok()) return synced;
  return facts;
}

absl::StatusOr<std::string> RestoreDatabase(const std::string& from, const std::string& to,
                                            const std::string& kept) {
  if (auto facts = CheckDatabase(from); !facts.ok()) return facts.status();
  Unfinished passing(to + ".restoring");
  auto copied = CopyTo(from, passing.path(), {}, SQLITE_OPEN_READONLY);
  if (!copied.ok()) return copied.status();
  const bool replaces = Exists(to);
  if (replaces) {
    FoldLog(to);
    if (::link(to.c_str(), kept.c_str()) != 0) return DiskRefused("keep the old database as", kept);
  }
  // What is left of a log belongs to a database that cannot be read.
  if (auto moved = MoveLog(to, kept); !moved.ok()) return moved;
  if (::rename(passing.path().c_str(), to.c_str()) != 0) return DiskRefused("replace", to);
  passing.Keep();
  if (auto synced = Sync(DirectoryOf(to), O_RDONLY | O_DIRECTORY); !synced.ok()) return synced;
  return replaces ? kept : std::string();
}

}  // namespace hotel::store
