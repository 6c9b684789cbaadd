#ifndef PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_DATABASE_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The present error of a connection as a status, with what was being done:
//   UNAVAILABLE          another process holds the file: try again.
//   RESOURCE_EXHAUSTED   the disk is full, or the memory.
//   DATA_LOSS            the file is damaged, or no database.
//   ALREADY_EXISTS       a row of that key is there.
//   FAILED_PRECONDITION  the row that it belongs to is not; the file may not
//                        be written.
//   INTERNAL             anything else, failures of the disk among them.
absl::Status SqliteStatus(sqlite3* database, absl::string_view doing);

// One use of a prepared statement, which is lent by its database: it is bound
// from the first parameter on, stepped, and given back reset. Movable;
// thread-compatible, as its database is.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement();
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)),
        bound_(other.bound_),
        failed_(other.failed_) {}
  Statement& operator=(Statement&&) = delete;

  // Binds the next parameter. The bytes are copied. Errors come with Step().
  Statement& Int(int64_t value);
  Statement& Text(absl::string_view value);
  Statement& Blob(absl::string_view value);

  // True if there is a row, false at the end.
  absl::StatusOr<bool> Step();

  // Steps to the end; rows are dropped.
  absl::Status Run();

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

  // Runs statements without parameters, separated by semicolons.
  absl::Status Execute(const char* sql);

  // A statement, to be bound and stepped; compiled at its first use.
  // REQUIRES: `sql` lives as long as the database; no other use of it is alive.
  absl::StatusOr<Statement> Use(const char* sql);

  // The only number that `sql` gives, a pragma for example.
  absl::StatusOr<int64_t> Number(const char* sql);

 private:
  struct Close {
    void operator()(sqlite3* raw) const { sqlite3_close_v2(raw); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* raw) const { sqlite3_finalize(raw); }
  };
  using Compiled = std::unique_ptr<sqlite3_stmt, Finalize>;

  explicit Database(sqlite3* raw) : raw_(raw) {}
  absl::StatusOr<Compiled> Compile(const char* sql);

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
