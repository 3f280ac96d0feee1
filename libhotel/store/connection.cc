#include "libhotel/store/connection.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <sqlite3.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/database_file.h"
#include "libhotel/store/sqlite_status.h"

namespace hotel::store {
namespace {

/// Asked by SQLite, for the `tries`-th time, whether to wait on for somebody's lock. Its own
/// handler soon sleeps a tenth of a second; who commits again and again then never leaves it a gap.
int WaitForLock(void* waiter, int tries) {
  constexpr int kQuickTries = 200;
  auto& lock = *static_cast<LockWait*>(waiter);
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) lock.since = now;
  if (now - lock.since >= lock.longest) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(tries < kQuickTries ? 1 : 10));
  return 1;
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(Connection* connection, sqlite3_stmt* statement)
    : connection_(connection), statement_(statement) {}

absl::StatusOr<bool> Statement::Step() {
  if (bind_error_ != SQLITE_OK) return connection_->Error(bind_error_);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->Error(code);
}

absl::Status Statement::RunToEnd() {
  for (;;) {
    absl::StatusOr<bool> row = Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::OkStatus();
  }
}

void Statement::Rewind() {
  // What the last run ended with was reported by it.
  sqlite3_reset(statement_.get());
  bind_error_ = SQLITE_OK;
}

std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (text == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

std::string_view Statement::TextView(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

std::string Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr) return {};
  return std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::Real(int column) const { return sqlite3_column_double(statement_.get(), column); }

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Statement::Bind(int index, std::nullptr_t) {
  const int code = sqlite3_bind_null(statement_.get(), index);
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::Bind(int index, double value) {
  const int code = sqlite3_bind_double(statement_.get(), index, value);
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::Bind(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), index, value);
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::Bind(int index, std::string_view text) {
  // A null pointer would bind NULL, not the empty string.
  const char* data = text.data() == nullptr ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_TRANSIENT,
                                       SQLITE_UTF8);
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::Bind(int index, StaticText text) {
  const char* data = text.text.data() == nullptr ? "" : text.text.data();
  const int code = sqlite3_bind_text64(statement_.get(), index, data, text.text.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::Bind(int index, BlobView blob) {
  const void* data = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  const int code =
      sqlite3_bind_blob64(statement_.get(), index, data, blob.bytes.size(), SQLITE_TRANSIENT);
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

Connection::Connection(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

Connection::~Connection() { sqlite3_close(db_); }

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path,
                                                             Duration busy_timeout,
                                                             Durability durability) {
  const bool in_memory = path == kMemoryPath;
  if (!in_memory) {
    absl::Status prepared = EnsureDatabaseFile(path);
    if (!prepared.ok()) return prepared;
  }
  // The file exists by now: without CREATE, SQLite cannot make one with wider permissions.
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (in_memory) flags |= SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  if (db == nullptr) return SqliteStatus(code, sqlite3_errstr(code), path);
  std::unique_ptr<Connection> connection(new Connection(db, path));
  if (code != SQLITE_OK) return connection->Error(code);
  absl::Status configured = connection->Configure(busy_timeout, durability);
  if (!configured.ok()) return configured;
  return connection;
}

absl::Status Connection::Configure(Duration busy_timeout, Durability durability) {
  lock_wait_.longest = busy_timeout;
  sqlite3_busy_handler(db_, WaitForLock, &lock_wait_);
  absl::Status status = RunScript(
      "PRAGMA foreign_keys = ON;"
      "PRAGMA trusted_schema = OFF;");
  if (status.ok()) {
    status = RunScript(durability == Durability::kCommit ? "PRAGMA synchronous = FULL"
                                                         : "PRAGMA synchronous = NORMAL");
  }
  if (!status.ok() || path_ == kMemoryPath) return status;
  absl::StatusOr<Statement> mode = Query("PRAGMA journal_mode = WAL");
  if (!mode.ok()) return mode.status();
  absl::StatusOr<bool> row = mode->Step();
  if (!row.ok()) return row.status();
  if (!*row || mode->Text(0) != "wal") {
    return absl::FailedPreconditionError(fmt::format(
        "the file system that holds {} cannot carry a write-ahead log: use a local directory",
        path_));
  }
  return absl::OkStatus();
}

absl::StatusOr<Statement> Connection::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return Error(code);
  return Statement(this, statement);
}

absl::StatusOr<Statement> Connection::QueryList(std::string_view sql,
                                                const std::vector<SqlValue>& args) {
  absl::StatusOr<Statement> statement = Prepare(sql);
  if (!statement.ok()) return statement;
  int index = 0;
  for (const SqlValue& value : args) statement->Bind(++index, value);
  return statement;
}

absl::Status Connection::RunList(std::string_view sql, const std::vector<SqlValue>& args) {
  absl::StatusOr<Statement> statement = QueryList(sql, args);
  return statement.ok() ? statement->RunToEnd() : statement.status();
}

absl::Status Connection::RunScript(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::StatusOr<std::int64_t> Connection::QueryInteger(std::string_view sql) {
  absl::StatusOr<Statement> statement = Query(sql);
  if (!statement.ok()) return statement.status();
  absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return *row ? statement->Integer(0) : 0;
}

std::int64_t Connection::total_changes() const noexcept { return sqlite3_total_changes64(db_); }

bool Connection::in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }

absl::Status Connection::Error(int code) const {
  return SqliteStatus(code, sqlite3_errmsg(db_), path_);
}

absl::StatusOr<Transaction> Transaction::Begin(Connection* connection) {
  absl::Status begun = connection->Run("BEGIN IMMEDIATE");
  if (!begun.ok()) return begun;
  return Transaction(connection);
}

absl::StatusOr<Transaction> Transaction::BeginRead(Connection* connection) {
  absl::Status begun = connection->Run("BEGIN");
  if (!begun.ok()) return begun;
  return Transaction(connection);
}

Transaction::Transaction(Transaction&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)) {}

Transaction::~Transaction() {
  // SQLite ends the transaction by itself after some errors; a rollback that fails leaves nothing
  // behind either, because the log holds no commit for it.
  if (connection_ != nullptr && connection_->in_transaction()) {
    (void)connection_->Run("ROLLBACK");
  }
}

absl::Status Transaction::Commit() { return connection_->Run("COMMIT"); }

}  // namespace hotel::store
