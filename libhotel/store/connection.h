// One SQLite connection, its prepared statements and transactions, as owning objects.
//
// Not thread-safe: whoever owns a connection serializes its use.
#ifndef HOTEL_STORE_CONNECTION_H_
#define HOTEL_STORE_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hotel::store {

/// Bytes that are bound as a BLOB; a plain string is bound as TEXT.
struct BlobView {
  std::string_view bytes;
};

/// Text that stays where it is until the statement is bound anew or goes: it is not copied.
struct StaticText {
  std::string_view text;
};

/// Bytes of its own that are bound as a BLOB.
struct Blob {
  std::string bytes;
};

/// A parameter of a statement that is put together at run time.
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, Blob>;

/// A prepared statement with its parameters bound. Must not outlive its connection.
class Statement {
 public:
  /// Advances to the next row: true when there is one, false at the end.
  absl::StatusOr<bool> Step();

  // The columns of the current row, from 0. NULL reads as empty, 0, false.
  std::string Text(int column) const;
  std::string Bytes(int column) const;
  /// The same as Text without a copy; valid until the next Step or Restart.
  std::string_view TextView(int column) const;
  std::int64_t Integer(int column) const;
  double Real(int column) const;
  bool Bool(int column) const { return Integer(column) != 0; }
  bool IsNull(int column) const;

  /// Makes the statement ready to run again, with these parameters: preparing takes longer than
  /// running most of them. As Connection::Query.
  template <typename... Args>
  void Restart(const Args&... args) {
    Rewind();
    [[maybe_unused]] int index = 0;
    (Bind(++index, args), ...);
  }
  /// Steps to the end and drops the rows.
  absl::Status RunToEnd();

 private:
  friend class Connection;
  void Rewind();
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(class Connection* connection, sqlite3_stmt* statement);

  void Bind(int index, std::nullptr_t);
  void Bind(int index, std::int64_t value);
  void Bind(int index, double value);
  void Bind(int index, std::string_view text);
  void Bind(int index, StaticText text);
  void Bind(int index, BlobView blob);
  void Bind(int index, const Blob& blob) { Bind(index, BlobView{blob.bytes}); }
  void Bind(int index, bool value) { Bind(index, std::int64_t{value}); }
  void Bind(int index, const std::string& text) { Bind(index, std::string_view(text)); }
  void Bind(int index, const char* text) { Bind(index, std::string_view(text)); }
  void Bind(int index, const SqlValue& value) {
    std::visit([this, index](const auto& each) { Bind(index, each); }, value);
  }
  template <typename T>
  void Bind(int index, const std::optional<T>& value) {
    value.has_value() ? Bind(index, *value) : Bind(index, nullptr);
  }

  class Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int bind_error_ = 0;  // the first failed bind, reported by Step
};

/// What of a commit has reached the disk when it returns.
enum class Durability {
  kCommit,      ///< the commit itself: for what is acknowledged to somebody
  kCheckpoint,  ///< it survives the end of the process; a power cut may take the last commits back
};

/// How long a connection waits for somebody else's lock.
struct LockWait {
  Duration longest{};
  std::chrono::steady_clock::time_point since{};  ///< of the wait at hand
};

/// An open database. Every method reports failure as SqliteStatus does.
class Connection {
 public:
  /// Opens `path`, creating the file (mode 0600) and missing directories (0700). ":memory:" is a
  /// private database that dies with the connection. Write-ahead log, foreign keys on. Commits
  /// reach the disk before they return: most of what is stored here is settings, written rarely and
  /// acknowledged to an operator.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(
      const std::string& path, Duration busy_timeout, Durability durability = Durability::kCommit);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Prepares one statement and binds `args` to its parameters in order: bool, integers, text,
  /// BlobView, nullptr or an optional of these.
  template <typename... Args>
  absl::StatusOr<Statement> Query(std::string_view sql, const Args&... args) {
    absl::StatusOr<Statement> statement = Prepare(sql);
    if (!statement.ok()) return statement;
    [[maybe_unused]] int index = 0;
    (statement->Bind(++index, args), ...);
    return statement;
  }

  /// The same for a list of parameters.
  absl::StatusOr<Statement> QueryList(std::string_view sql, const std::vector<SqlValue>& args);

  /// Runs one statement to its end and drops its rows.
  template <typename... Args>
  absl::Status Run(std::string_view sql, const Args&... args) {
    absl::StatusOr<Statement> statement = Query(sql, args...);
    if (!statement.ok()) return statement.status();
    return statement->RunToEnd();
  }

  /// The same for a list of parameters.
  absl::Status RunList(std::string_view sql, const std::vector<SqlValue>& args);

  /// Runs a script of statements without parameters.
  absl::Status RunScript(const char* sql);

  /// The value of a one-column, one-row query; 0 when it has no row.
  absl::StatusOr<std::int64_t> QueryInteger(std::string_view sql);

  /// Rows inserted, updated or deleted since the connection was opened.
  std::int64_t total_changes() const noexcept;
  /// True between BEGIN and its COMMIT or ROLLBACK.
  bool in_transaction() const noexcept;

 private:
  friend class Statement;
  Connection(sqlite3* db, std::string path);
  absl::Status Configure(Duration busy_timeout, Durability durability);
  absl::StatusOr<Statement> Prepare(std::string_view sql);
  absl::Status Error(int code) const;

  sqlite3* db_;
  std::string path_;
  LockWait lock_wait_;
};

/// A transaction: rolled back by its destructor unless committed.
class Transaction {
 public:
  /// Takes the database's write lock at once, so that no statement in it can meet a lock later.
  static absl::StatusOr<Transaction> Begin(Connection* connection);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  /// Everything that is read in it is of one moment.
  static absl::StatusOr<Transaction> BeginRead(Connection* connection);
  /// On failure nothing was stored.
  absl::Status Commit();

 private:
  explicit Transaction(Connection* connection) : connection_(connection) {}
  Connection* connection_;
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_CONNECTION_H_
