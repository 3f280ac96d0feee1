#include "libhotel/store/sqlite_keys.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/key_digest.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/key_rows.h"
#include "libhotel/store/key_rules.h"
#include "libhotel/store/key_secret.h"
#include "libhotel/store/migrations.h"
#include "libhotel/store/text_rules.h"

namespace hotel {
namespace store {
namespace {

using Keys = std::vector<VirtualKey>;

const VirtualKey* FindName(const Keys& keys, std::string_view name) {
  const auto it = std::find_if(keys.begin(), keys.end(),
                               [&](const VirtualKey& key) { return key.spec.name == name; });
  return it == keys.end() ? nullptr : &*it;
}

const VirtualKey* FindId(const Keys& keys, std::string_view id) {
  const auto it =
      std::find_if(keys.begin(), keys.end(), [&](const VirtualKey& key) { return key.id == id; });
  return it == keys.end() ? nullptr : &*it;
}

absl::Status NotFound() { return absl::NotFoundError("virtual key not found"); }

absl::Status NameTaken(std::string_view name) {
  return absl::AlreadyExistsError(
      fmt::format("a virtual key named '{}' already exists", Quoted(name)));
}

absl::Status StandsInFile(const VirtualKey& key) {
  return absl::FailedPreconditionError(
      fmt::format("virtual key '{}' stands in the configuration file", Quoted(key.spec.name)));
}

/// Makes the row of a key of the file be there.
absl::Status ApplyFileKey(Connection& connection, const Keys& keys, const FileKey& file,
                          WallTime now) {
  const absl::StatusOr<KeySpec> spec = NormalizeKey(file.spec);
  if (!spec.ok()) {
    return absl::Status(spec.status().code(),
                        fmt::format("virtual key '{}': {}", Quoted(file.spec.name),
                                    std::string(spec.status().message())));
  }
  const KeyDigest digest = base::KeyDigestOf(file.key.Reveal());
  for (const VirtualKey& other : keys) {
    if (other.digest != digest || other.spec.name == spec->name) continue;
    // A key that came from the file under another name has been renamed there.
    if (!other.from_file) {
      return absl::InvalidArgumentError(
          fmt::format("virtual key '{}': the same key is stored as '{}'; delete one of them",
                      Quoted(spec->name), Quoted(other.spec.name)));
    }
    VirtualKey renamed = other;
    if (FindName(keys, spec->name) != nullptr) return NameTaken(spec->name);
    renamed.spec = *spec;
    renamed.updated_at = now;
    return UpdateKey(connection, renamed);
  }
  VirtualKey row;
  const VirtualKey* const known = FindName(keys, spec->name);
  if (known != nullptr) row = *known;
  row.spec = *spec;
  row.digest = digest;
  row.preview = KeyPreview(file.key.Reveal());
  row.from_file = true;
  row.updated_at = now;
  if (known != nullptr) return UpdateKey(connection, row);
  row.id = base::NewUuid();
  row.created_at = now;
  return InsertKey(connection, row);
}

/// Keys that came from a file and are not in it any more lose what ties them to it. One that has
/// another key now gives its old one free, so that names can trade theirs.
absl::Status ReleaseOldKeys(Connection& connection, const Keys& rows,
                            const std::vector<FileKey>& keys, WallTime now) {
  std::map<std::string, KeyDigest, std::less<>> listed;
  std::set<KeyDigest> digests;
  for (const FileKey& key : keys) {
    const KeyDigest digest = base::KeyDigestOf(key.key.Reveal());
    listed.emplace(base::Trim(key.spec.name), digest);
    digests.insert(digest);
  }
  for (const VirtualKey& row : rows) {
    if (!row.from_file) continue;
    VirtualKey released = row;
    if (const auto same = listed.find(row.spec.name); same != listed.end()) {
      if (same->second == row.digest) continue;
      released.digest = base::KeyDigestOf(row.id);  // until its new one is written
    } else if (digests.count(row.digest) != 0) {
      continue;  // it has another name now
    } else {
      released.from_file = false;
      released.spec.enabled = false;
      released.updated_at = now;
    }
    if (absl::Status status = UpdateKey(connection, released); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteKeys>> SqliteKeys::Open(const KeyStoreOptions& options,
                                                             const Clock* clock) {
  absl::StatusOr<std::unique_ptr<Connection>> connection =
      Connection::Open(options.path, options.busy_timeout);
  if (!connection.ok()) return connection.status();
  if (absl::Status status = Migrate(**connection, Migrations()); !status.ok()) return status;
  absl::StatusOr<Keys> keys = ReadKeyRows(**connection);
  if (!keys.ok()) return keys.status();
  auto usage = Connection::Open(options.path, options.busy_timeout, Durability::kCheckpoint);
  if (!usage.ok()) return usage.status();
  return std::unique_ptr<SqliteKeys>(
      new SqliteKeys(*std::move(connection), *std::move(usage), clock, *std::move(keys)));
}

SqliteKeys::SqliteKeys(std::unique_ptr<Connection> connection, std::unique_ptr<Connection> usage,
                       const Clock* clock, Keys keys)
    : clock_(clock),
      connection_(std::move(connection)),
      usage_(std::move(usage)),
      snapshot_(std::make_shared<const KeySnapshot>(std::move(keys))) {}

std::shared_ptr<const KeySnapshot> SqliteKeys::Snapshot() const noexcept {
  base::MutexLock lock(&snapshot_mutex_);
  return snapshot_;
}

absl::Status SqliteKeys::Write(const Change& change) {
  base::MutexLock lock(&writer_mutex_);
  absl::StatusOr<Transaction> transaction = Transaction::Begin(connection_.get());
  if (!transaction.ok()) return transaction.status();
  const absl::StatusOr<Keys> before = ReadKeyRows(*connection_);
  if (!before.ok()) return before.status();
  if (absl::Status status = change(*connection_, *before); !status.ok()) return status;
  absl::StatusOr<Keys> after = ReadKeyRows(*connection_);
  if (!after.ok()) return after.status();
  auto next = std::make_shared<const KeySnapshot>(*std::move(after));
  if (absl::Status status = transaction->Commit(); !status.ok()) return status;
  base::MutexLock publishing(&snapshot_mutex_);
  snapshot_.swap(next);
  return absl::OkStatus();
}

absl::StatusOr<NewKey> SqliteKeys::Create(const KeySpec& spec) {
  absl::StatusOr<KeySpec> normal = NormalizeKey(spec);
  if (!normal.ok()) return normal.status();
  absl::StatusOr<Secret> secret = NewKeySecret();
  if (!secret.ok()) return secret.status();
  VirtualKey row;
  row.id = base::NewUuid();
  row.spec = *std::move(normal);
  row.digest = base::KeyDigestOf(secret->Reveal());
  row.preview = KeyPreview(secret->Reveal());
  row.created_at = clock_->WallNow();
  row.updated_at = row.created_at;
  const absl::Status status = Write([&](Connection& connection, const Keys& keys) {
    if (FindName(keys, row.spec.name) != nullptr) return NameTaken(row.spec.name);
    return InsertKey(connection, row);
  });
  if (!status.ok()) return status;
  return NewKey{std::move(row), *std::move(secret)};
}

absl::StatusOr<VirtualKey> SqliteKeys::Update(std::string_view id,
                                              const std::function<void(KeySpec*)>& edit) {
  VirtualKey row;
  const absl::Status status = Write([&](Connection& connection, const Keys& keys) -> absl::Status {
    const VirtualKey* const known = FindId(keys, id);
    if (known == nullptr) return NotFound();
    if (known->from_file) return StandsInFile(*known);
    row = *known;
    edit(&row.spec);
    absl::StatusOr<KeySpec> normal = NormalizeKey(row.spec);
    if (!normal.ok()) return normal.status();
    row.spec = *std::move(normal);
    const VirtualKey* const same = FindName(keys, row.spec.name);
    if (same != nullptr && same->id != row.id) return NameTaken(row.spec.name);
    row.updated_at = clock_->WallNow();
    return UpdateKey(connection, row);
  });
  if (!status.ok()) return status;
  return row;
}

absl::Status SqliteKeys::Delete(std::string_view id) {
  return Write([&](Connection& connection, const Keys& keys) {
    const VirtualKey* const known = FindId(keys, id);
    if (known == nullptr) return NotFound();
    if (known->from_file) return StandsInFile(*known);
    return DeleteKey(connection, id);
  });
}

absl::Status SqliteKeys::ApplyFile(const std::vector<FileKey>& keys) {
  return Write([&](Connection& connection, const Keys& before) -> absl::Status {
    const WallTime now = clock_->WallNow();
    if (absl::Status status = ReleaseOldKeys(connection, before, keys, now); !status.ok()) {
      return status;
    }
    for (const FileKey& key : keys) {
      const absl::StatusOr<Keys> rows = ReadKeyRows(connection);
      if (!rows.ok()) return rows.status();
      const absl::Status status = ApplyFileKey(connection, *rows, key, now);
      if (!status.ok() && !key.place.empty()) {
        return absl::Status(status.code(),
                            fmt::format("{}: {}", key.place, std::string(status.message())));
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::map<std::string, KeyUsage, std::less<>>> SqliteKeys::ReadUsage() {
  base::MutexLock lock(&usage_mutex_);
  return ReadKeyUsage(*usage_);
}

absl::Status SqliteKeys::AddUsage(const std::vector<KeyCharge>& charges) {
  base::MutexLock lock(&usage_mutex_);
  absl::StatusOr<Transaction> transaction = Transaction::Begin(usage_.get());
  if (!transaction.ok()) return transaction.status();
  for (const KeyCharge& charge : charges) {
    if (absl::Status status = AddKeyUsage(*usage_, charge); !status.ok()) return status;
  }
  return transaction->Commit();
}

}  // namespace store

absl::StatusOr<std::unique_ptr<KeyStore>> OpenKeyStore(const KeyStoreOptions& options,
                                                       const Clock* clock) {
  return store::SqliteKeys::Open(options, clock);
}

}  // namespace hotel
