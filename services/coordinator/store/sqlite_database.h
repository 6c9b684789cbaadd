#ifndef PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_DATABASE_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/coordinator/store/sqlite_statement.h"

namespace paceline {

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
