#include "server/ctl/backup.h"

#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "libhotel/base/time_text.h"
#include "libhotel/store/backup.h"
#include "server/data_dir.h"

namespace hotel::ctl {
namespace {

constexpr Duration kPatience = std::chrono::seconds(30);

struct Places {
  std::string data_dir;
  std::string file;
  bool without_logs = false;
};

std::string DatabaseOf(const Places& places) { return places.data_dir + "/hotel.db"; }

absl::Status BackUp(const Places& places, std::ostream& out) {
  const auto facts =
      store::BackUpDatabase(DatabaseOf(places), places.file, {places.without_logs, kPatience});
  if (!facts.ok()) return facts.status();
  out << fmt::format(
      "{}: {} bytes, schema version {}\n"
      "in it: providers (their keys sealed), models, groups, virtual keys (as digests), settings, "
      "sums{}\n"
      "not in it: the configuration file, master-key (or MASTER_KEY: without it the sealed keys "
      "cannot be read; keep it apart from the backup), admin-token\n",
      places.file, facts->bytes, facts->version,
      places.without_logs ? "" : ", the log of finished requests");
  return absl::OkStatus();
}

/// "20260901T100000Z"
std::string Stamp() {
  const auto now =
      std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
  std::string stamp;
  for (const char c : base::FormatTime(now)) {
    if (c == '.') break;
    if (c != '-' && c != ':') stamp += c;
  }
  return stamp + "Z";
}

absl::Status Restore(const Places& places, std::ostream& out) {
  // Judged before anything is made in the directory.
  if (const auto facts = store::CheckDatabase(places.file); !facts.ok()) return facts.status();
  const auto lock = server::LockDataDir(places.data_dir);
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::FailedPreconditionError(
        fmt::format("a hoteld is running with {}: stop it first", places.data_dir));
  }
  if (!lock.ok()) return lock.status();
  const std::string database = DatabaseOf(places);
  const auto kept = store::RestoreDatabase(places.file, database,
                                           fmt::format("{}.replaced-{}", database, Stamp()));
  if (!kept.ok()) return kept.status();
  out << fmt::format("{} is {} now\n", database, places.file);
  if (!kept->empty()) out << fmt::format("the database that was there is {}\n", *kept);
  out << "to read the provider keys in it hoteld needs the master key they were sealed with "
         "(MASTER_KEY, or the file master-key of that data directory)\n";
  return absl::OkStatus();
}

void AddPlaces(CLI::App* command, Places* places, const char* file_help) {
  command
      ->add_option("--data-dir", places->data_dir, "The sidecar's data directory (server.data_dir)")
      ->required();
  command->add_option("file", places->file, file_help)->required();
}

}  // namespace

void AddBackup(CLI::App* app, OfflineCommand* chosen) {
  auto* const command = app->add_subcommand(
      "backup", "Copy the database of a data directory, also while hoteld uses it (offline)");
  const auto places = std::make_shared<Places>();
  AddPlaces(command, places.get(), "The new file");
  command->add_flag("--without-logs", places->without_logs,
                    "Without the rows of finished requests; their sums are there");
  command->callback(
      [chosen, places] { *chosen = [places](std::ostream& out) { return BackUp(*places, out); }; });
}

void AddRestore(CLI::App* app, OfflineCommand* chosen) {
  auto* const command = app->add_subcommand(
      "restore", "Put a backup in the place of a data directory's database (offline)");
  const auto places = std::make_shared<Places>();
  AddPlaces(command, places.get(), "What `hotelctl backup` wrote");
  command->callback([chosen, places] {
    *chosen = [places](std::ostream& out) { return Restore(*places, out); };
  });
}

}  // namespace hotel::ctl
