// What the store's tests share: a directory of their own, a clock, a raw look into the file.
#ifndef HOTEL_TESTS_UNIT_STORE_STORE_FIXTURE_H_
#define HOTEL_TESTS_UNIT_STORE_STORE_FIXTURE_H_

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sqlite3.h>
#include <unistd.h>

#include "hotel/clock.h"
#include "hotel/defaults.h"
#include "hotel/failover_group.h"

#include "absl/status/statusor.h"
#include "libhotel/store/key_cipher.h"
#include "libhotel/store/sqlite_store.h"

namespace hotel::store {

/// A directory that is removed at the end of the test.
class TempDir {
 public:
  TempDir() {
    // In memory where there is such a directory: these tests sync thousands of times.
    const std::filesystem::path memory = "/dev/shm";
    const bool usable = access(memory.c_str(), W_OK | X_OK) == 0;
    const std::filesystem::path base = usable ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (base / "hotel-store-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class TestClock final : public Clock {
 public:
  TimePoint Now() const noexcept override { return {}; }
  WallTime WallNow() const noexcept override { return wall; }
  WallTime wall{std::chrono::milliseconds(1788256800123)};  // 2026-09-01T10:00:00.123Z
};

inline constexpr char kMasterKey[] = "a master key of more than thirty-two characters";

/// Opens a file with keys in the cheap format: these tests are not about the derivation's cost.
inline absl::StatusOr<std::unique_ptr<SqliteStore>> TryOpen(
    const std::string& path, const Clock& clock, const std::string& master_key = kMasterKey,
    Duration busy_timeout = std::chrono::milliseconds(5)) {
  StoreOptions options;
  options.path = path;
  options.master_key = Secret(master_key);
  options.busy_timeout = busy_timeout;
  return SqliteStore::Open(options, &clock, KeyFormat::kTransient);
}

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

inline std::unique_ptr<SqliteStore> MustOpen(const std::string& path, const Clock& clock,
                                             const std::string& master_key = kMasterKey) {
  return Must(TryOpen(path, clock, master_key));
}

inline ProviderSpec SpecOf(const std::string& name, const std::string& key = "") {
  ProviderSpec spec;
  spec.name = name;
  spec.type = "openai";
  spec.base_url = "https://" + RoutingName(name) + ".test/v1";
  spec.api_key = Secret(key);
  return spec;
}

/// Providers p1 ... p<count> with model "m" each; returns the models' UUIDs.
inline std::vector<std::string> AddModels(Store& store, int count) {
  std::vector<std::string> models;
  for (int i = 1; i <= count; ++i) {
    const std::string provider = Must(store.UpsertProvider(SpecOf("p" + std::to_string(i))));
    models.push_back(Must(store.EnsureModel(provider, "m")));
  }
  return models;
}

inline NewFailoverGroup GroupOf(const std::string& name, std::vector<std::string> entry_ids) {
  NewFailoverGroup group;
  group.display_model = name;
  group.entry_ids = std::move(entry_ids);
  return group;
}

/// A connection beside the store's, as another program would have one.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open");
    sqlite3_busy_timeout(db_, 5000);  // the writer of a log may be at work for a moment
  }
  ~RawDatabase() { sqlite3_close(db_); }
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;

  void Run(const std::string& sql) {
    char* message = nullptr;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
      const std::string text = message == nullptr ? "no message" : message;
      sqlite3_free(message);
      throw std::runtime_error(sql + ": " + text);
    }
  }
  /// The first column of the first row as bytes; "" for NULL and no row.
  std::string Value(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(db_));
    }
    std::string value;
    if (sqlite3_step(statement) == SQLITE_ROW) {
      const void* bytes = sqlite3_column_blob(statement, 0);
      if (bytes != nullptr) {
        value.assign(static_cast<const char*>(bytes),
                     static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
      }
    }
    sqlite3_finalize(statement);
    return value;
  }

 private:
  sqlite3* db_ = nullptr;
};

inline std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace hotel::store

#endif  // HOTEL_TESTS_UNIT_STORE_STORE_FIXTURE_H_
