#include "services/coordinator/store/sqlite_database.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<Database> Database::Open(const std::string& path) {
  sqlite3* raw = nullptr;
  // No mutex of its own: whoever has the database serializes its use.
  const int code = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  if (raw == nullptr) {
    return absl::ResourceExhaustedError("no memory for a database");
  }
  Database database(raw);  // Also after an error: it is to be closed.
  if (code != SQLITE_OK) {
    return SqliteStatus(raw, absl::StrCat("open ", path));
  }
  sqlite3_extended_result_codes(raw, 1);
  // SQLite opens a file that it may not write for reading, without a word.
  if (sqlite3_db_readonly(raw, "main") == 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("open ", path, ": it may not be written"));
  }
  return database;
}

absl::Status Database::Execute(const char* sql) {
  if (sqlite3_exec(raw_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) {
    return absl::OkStatus();
  }
  return SqliteStatus(raw_.get(), sql);
}

absl::StatusOr<Database::Compiled> Database::Compile(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(raw_.get(), sql, /*nByte=*/-1,
                         SQLITE_PREPARE_PERSISTENT, &raw,
                         nullptr) != SQLITE_OK) {
    return SqliteStatus(raw_.get(), sql);
  }
  return Compiled(raw);
}

absl::StatusOr<Statement> Database::Use(const char* sql) {
  Compiled& compiled = compiled_[sql];
  if (compiled == nullptr) {
    PACELINE_ASSIGN_OR_RETURN(compiled, Compile(sql));
  }
  return Statement(compiled.get());
}

absl::StatusOr<int64_t> Database::Number(const char* sql) {
  PACELINE_ASSIGN_OR_RETURN(Statement statement, Use(sql));
  PACELINE_ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return absl::InternalError(absl::StrCat(sql, ": no row"));
  return statement.IntAt(0);
}

absl::StatusOr<Transaction> Transaction::Begin(Database* database) {
  // The write lock at once, so that no later statement can fail for want of it.
  PACELINE_RETURN_IF_ERROR(database->Execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

absl::Status Transaction::Commit() {
  PACELINE_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_ = nullptr;
  return absl::OkStatus();
}

Transaction::~Transaction() {
  // SQLite itself may have rolled back already, after a full disk say; then
  // this fails, and all is as it should be.
  if (database_ != nullptr) database_->Execute("ROLLBACK").IgnoreError();
}

}  // namespace paceline
