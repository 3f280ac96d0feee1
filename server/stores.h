// What a sidecar keeps in its data directory.
#ifndef SERVER_STORES_H_
#define SERVER_STORES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hotel/clock.h"
#include "hotel/events.h"
#include "hotel/log_store.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/data_dir.h"
#include "server/keys.h"
#include "server/log.h"
#include "server/readiness.h"
#include "server/socket.h"

namespace hotel::server {

/// Lock, master key, request log and virtual keys. (Providers, models and groups are the hotel's.)
class Stores {
 public:
  /// `log` must outlive it.
  Stores(std::string data_dir, Log* log) : dir_(std::move(data_dir)), log_(log) {}

  /// Takes the directory for as long as this lives and says whether the last run came to its end.
  /// FailedPrecondition when another process has it.
  absl::Status Lock();
  /// From the environment or the directory; warns of a weak one, and of one that lies here.
  absl::StatusOr<Secret> ReadMasterKey();

  /// How long rows of the request log are kept; nullopt while nobody can say.
  using Retention = std::function<std::optional<Duration>()>;
  /// Behind Lock. `events` and `clock` must outlive it.
  absl::Status Open(EventSink* events, Retention retention, const Clock* clock);
  /// Writes what waits. Behind Open; nothing of it is used any more.
  void Close();

  /// What a run leaves behind that does not come to its end, between these two.
  void MarkBegun() { SetRunMark(lock_); }
  void MarkEnded() { ClearRunMark(lock_); }

  const std::string& dir() const noexcept { return dir_; }
  // Behind Open.
  LogStore& request_log() noexcept { return *request_log_; }
  Keys& keys() noexcept { return *keys_; }
  Readiness& readiness() noexcept { return *readiness_; }

 private:
  std::string Database() const { return dir_ + "/hotel.db"; }

  const std::string dir_;
  Log* const log_;
  Fd lock_;
  std::unique_ptr<LogStore> request_log_;
  std::unique_ptr<Readiness> readiness_;
  std::unique_ptr<Keys> keys_;
};

}  // namespace hotel::server

#endif  // SERVER_STORES_H_
