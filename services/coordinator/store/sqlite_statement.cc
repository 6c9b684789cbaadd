#include "services/coordinator/store/sqlite_statement.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

absl::StatusCode CodeOf(int extended) {
  if (extended == SQLITE_CONSTRAINT_FOREIGNKEY) {
    return absl::StatusCode::kFailedPrecondition;
  }
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    // Our statements are right: the file lacks what they name, has already what
    // they make, or is in a format that SQLite does not know.
    case SQLITE_ERROR:
      return absl::StatusCode::kDataLoss;
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kAlreadyExists;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status SqliteStatus(sqlite3* database, absl::string_view doing) {
  return absl::Status(CodeOf(sqlite3_extended_errcode(database)),
                      absl::StrCat(doing, ": ", sqlite3_errmsg(database)));
}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);  // Repeats the error that Step() has returned.
  sqlite3_clear_bindings(statement_);
}

void Statement::NoteBound(int code) {
  if (code != SQLITE_OK) failed_ = true;
}

Statement& Statement::Int(int64_t value) {
  NoteBound(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Statement& Statement::Text(absl::string_view value) {
  // An empty view may have no data, which would be NULL.
  const char* const data = value.empty() ? "" : value.data();
  NoteBound(sqlite3_bind_text64(statement_, ++bound_, data, value.size(),
                                SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::Blob(absl::string_view value) {
  const char* const data = value.empty() ? "" : value.data();
  NoteBound(sqlite3_bind_blob64(statement_, ++bound_, data, value.size(),
                                SQLITE_TRANSIENT));
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  const int code = failed_ ? SQLITE_ERROR : sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteStatus(sqlite3_db_handle(statement_), sqlite3_sql(statement_));
}

absl::Status Statement::Run() {
  bool row = true;
  while (row) {
    PACELINE_ASSIGN_OR_RETURN(row, Step());
  }
  return absl::OkStatus();
}

int64_t Statement::IntAt(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::BytesAt(int column) const {
  const void* const data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr) return "";
  return std::string(static_cast<const char*>(data), static_cast<size_t>(size));
}

}  // namespace paceline
