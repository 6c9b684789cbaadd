#ifndef PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_DATABASE_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "google/protobuf/message_lite.h"

namespace paceline {

// The present error of a connection as a status, with what was being done:
//   UNAVAILABLE          another process holds the file: try again.
//   RESOURCE_EXHAUSTED   the disk is full, or the memory.
//   DATA_LOSS            the file is damaged, or no database.
//   ALREADY_EXISTS       a row of that key is there.
//   FAILED_PRECONDITION  the row that it belongs to is not; the file may not
//                        be written.
//   INTERNAL             anything else, failures of the disk among them, with
//                        what the system said.
absl::Status SqliteStatus(sqlite3* database, absl::string_view doing);

// One use of a prepared statement, which is lent by its database: it is stepped
// and given back reset. Movable; thread-compatible, as its database is.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement();
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)),
        bound_(other.bound_),
        failed_(other.failed_) {}
  Statement& operator=(Statement&&) = delete;

  // Binds the next parameter: a message as the blob of its bytes. Everything is
  // copied. Errors come with Step().
  void Bind(int64_t value);
  void Bind(absl::string_view text);
  void Bind(const google::protobuf::MessageLite& message);

  // True if there is a row, false at the end.
  absl::StatusOr<bool> Step();

  // Read the present row, columns from 0. Bytes are those of a text or a blob.
  int64_t IntAt(int column) const;
  std::string BytesAt(int column) const;

 private:
  void NoteBound(int code);

  sqlite3_stmt* statement_;
  int bound_ = 0;
  bool failed_ = false;
};

// A connection to one SQLite file. All errors are SqliteStatus(). Movable;
// thread-compatible.
class Database {
 public:
  // Makes the file if it is not there. ":memory:" is a database without one.
  // FAILED_PRECONDITION also if the file may only be read.
  static absl::StatusOr<Database> Open(const std::string& path);
  // The same, but FAILED_PRECONDITION if the file is not there.
  static absl::StatusOr<Database> OpenExisting(const std::string& path);

  // The file's absolute path without symbolic links; "" if there is none.
  std::string File() const;

  // The pages in FILE-wal after the last commit, those among them that are in
  // FILE too. Nothing is taken over into FILE but by Checkpoint(), or when the
  // last connection to it is closed.
  int log_pages() const { return *log_pages_; }
  // Takes over what no reader needs any more. Waits for nobody.
  absl::Status Checkpoint();
  // Closing it leaves FILE and FILE-wal as they are.
  void LeaveFilesOnClose();

  // Runs statements without parameters, separated by semicolons.
  absl::Status Execute(const char* sql);

  // A statement with these parameters, to be stepped; compiled at its first
  // use.
  // REQUIRES: `sql` lives as long as the database; no other use of it is alive.
  template <typename... Parameters>
  absl::StatusOr<Statement> Query(const char* sql,
                                  const Parameters&... parameters) {
    PACELINE_ASSIGN_OR_RETURN(Statement statement, Use(sql));
    (statement.Bind(parameters), ...);
    return statement;
  }
  // Runs it to its end; rows are dropped. REQUIRES: as Query().
  template <typename... Parameters>
  absl::Status Run(const char* sql, const Parameters&... parameters) {
    PACELINE_ASSIGN_OR_RETURN(Statement statement, Query(sql, parameters...));
    bool row = true;
    while (row) {
      PACELINE_ASSIGN_OR_RETURN(row, statement.Step());
    }
    return absl::OkStatus();
  }

  // The first column of the first row: a number, which must be there, or the
  // bytes of a text or a blob, if there are any. REQUIRES: as Query().
  template <typename... Parameters>
  absl::StatusOr<int64_t> Number(const char* sql,
                                 const Parameters&... parameters) {
    PACELINE_ASSIGN_OR_RETURN(Statement statement, Query(sql, parameters...));
    PACELINE_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return absl::InternalError(absl::StrCat(sql, ": no row"));
    return statement.IntAt(0);
  }
  template <typename... Parameters>
  absl::StatusOr<std::optional<std::string>> Bytes(
      const char* sql, const Parameters&... parameters) {
    PACELINE_ASSIGN_OR_RETURN(Statement statement, Query(sql, parameters...));
    PACELINE_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return std::nullopt;
    return statement.BytesAt(0);
  }

 private:
  struct Close {
    void operator()(sqlite3* raw) const { sqlite3_close_v2(raw); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* raw) const { sqlite3_finalize(raw); }
  };
  using Compiled = std::unique_ptr<sqlite3_stmt, Finalize>;

  explicit Database(sqlite3* raw)
      : log_pages_(std::make_unique<int>(0)), raw_(raw) {}
  static absl::StatusOr<Database> OpenWith(const std::string& path, int flags);
  absl::StatusOr<Statement> Use(const char* sql);
  absl::StatusOr<Compiled> Compile(const char* sql);

  std::unique_ptr<int> log_pages_;  // SQLite knows where it is.
  std::unique_ptr<sqlite3, Close> raw_;
  std::map<const char*, Compiled> compiled_;  // By address.
};

// What is done until Commit() is done together or, without it, not at all.
class Transaction {
 public:
  // REQUIRES: `database` outlives it and has no other open.
  static absl::StatusOr<Transaction> Begin(Database* database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept
      : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;

  absl::Status Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}

  Database* database_;  // Null: committed, or moved from.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_DATABASE_H_
