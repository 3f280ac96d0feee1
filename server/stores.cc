#include "server/stores.h"

#include <fmt/format.h>

#include "libhotel/settings/config.h"
#include "libhotel/store/backup.h"

namespace hotel::server {
namespace {

constexpr const char* kScope = "server";
constexpr std::size_t kWeakMasterKey = 32;

/// What is lost then is what LogStoreOptions say; nothing else waits in memory.
constexpr const char* kLastRunCut =
    "the last run did not come to its end: nothing that was acknowledged is lost, but rows of the "
    "request log from its last second may be";

}  // namespace

absl::Status Stores::Lock() {
  auto lock = LockDataDir(dir_);
  if (!lock.ok()) return lock.status();
  lock_ = std::move(*lock);
  if (HasRunMark(lock_)) log_->Warn(kScope, kLastRunCut);
  return absl::OkStatus();
}

absl::StatusOr<Secret> Stores::ReadMasterKey() {
  auto from_env = settings::ProcessEnv()("MASTER_KEY").value_or("");
  if (!from_env.empty() && from_env.size() < kWeakMasterKey) {
    log_->Warn(kScope, fmt::format("MASTER_KEY is shorter than {} characters", kWeakMasterKey));
  }
  auto master = LoadMasterKey(dir_, std::move(from_env));
  if (!master.ok()) return master.status();
  if (!master->file.empty()) {
    log_->Warn(kScope,
               fmt::format("MASTER_KEY is not set: provider keys are sealed with the {} {}; keep "
                           "it with your backups or set MASTER_KEY",
                           master->created ? "new key in" : "key in", master->file));
  }
  return std::move(master->key);
}

absl::Status Stores::Open(EventSink* events, Retention retention, const Clock* clock) {
  LogStoreOptions options;
  options.path = Database();
  options.events = events;
  options.retention = std::move(retention);
  auto log = OpenLogStore(std::move(options), clock);
  if (!log.ok()) return log.status();
  request_log_ = *std::move(log);
  readiness_ = std::make_unique<Readiness>(
      [file = Database()] { return store::ProbeDatabase(file, Readiness::kLimit); },
      [this](const absl::Status& status) {
        status.ok() ? log_->Info(kScope, "the database can be read again")
                    : log_->Warn(kScope, "the database cannot be read",
                                 {{"reason", std::string(status.message())}});
      },
      request_log_.get());
  auto keys = Keys::Open(Database(), clock);
  if (!keys.ok()) return keys.status();
  keys_ = *std::move(keys);
  return absl::OkStatus();
}

void Stores::Close() {
  keys_->gate().Close();
  request_log_->Close();
}

}  // namespace hotel::server
