#include "services/coordinator/store/sqlite_database.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

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

// Whether a call of the system has failed, of which it said why.
bool IsOfDisk(int extended) {
  return (extended & 0xff) == SQLITE_IOERR && extended != SQLITE_IOERR_NOMEM &&
         extended != SQLITE_IOERR_SHMOPEN && extended != SQLITE_IOERR_SHMSIZE &&
         extended != SQLITE_IOERR_SHMLOCK && extended != SQLITE_IOERR_SHMMAP;
}

// What the system said at the last error of the write-ahead log, or else of the
// file; 0: nothing. (sqlite3_system_errno() is not told of a failing COMMIT.)
int DiskErrno(sqlite3* database) {
  int said = 0;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &said);
  }
  if (said == 0) {
    sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &said);
  }
  return said;
}

int NotePages(void* log_pages, sqlite3* /*database*/, const char* /*name*/,
              int pages) {
  *static_cast<int*>(log_pages) = pages;
  return SQLITE_OK;
}

}  // namespace

absl::Status SqliteStatus(sqlite3* database, absl::string_view doing) {
  const int extended = sqlite3_extended_errcode(database);
  absl::StatusCode code = CodeOf(extended);
  std::string text = absl::StrCat(doing, ": ", sqlite3_errmsg(database));
  const int of_disk = IsOfDisk(extended) ? DiskErrno(database) : 0;
  if (of_disk != 0) absl::StrAppend(&text, ": ", strerror(of_disk));
  if (of_disk == ENOSPC || of_disk == EDQUOT) {
    code = absl::StatusCode::kResourceExhausted;
  }
  const char* const file = sqlite3_db_filename(database, "main");
  // Whoever is to make room must know where.
  if (code == absl::StatusCode::kResourceExhausted && file != nullptr &&
      *file != '\0') {
    absl::StrAppend(&text, ": ", file);
  }
  return absl::Status(code, text);
}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);  // Repeats the error that Step() has returned.
  sqlite3_clear_bindings(statement_);
}

void Statement::NoteBound(int code) {
  if (code != SQLITE_OK) failed_ = true;
}

void Statement::Bind(int64_t value) {
  NoteBound(sqlite3_bind_int64(statement_, ++bound_, value));
}

void Statement::Bind(absl::string_view text) {
  // An empty view may have no data, which would be NULL.
  const char* const data = text.empty() ? "" : text.data();
  NoteBound(sqlite3_bind_text64(statement_, ++bound_, data, text.size(),
                                SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::Bind(const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  NoteBound(sqlite3_bind_blob64(statement_, ++bound_, bytes.data(),
                                bytes.size(), SQLITE_TRANSIENT));
}

absl::StatusOr<bool> Statement::Step() {
  const int code = failed_ ? SQLITE_ERROR : sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteStatus(sqlite3_db_handle(statement_), sqlite3_sql(statement_));
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

absl::StatusOr<Database> Database::Open(const std::string& path) {
  return OpenWith(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

absl::StatusOr<Database> Database::OpenExisting(const std::string& path) {
  return OpenWith(path, SQLITE_OPEN_READWRITE);
}

absl::StatusOr<Database> Database::OpenWith(const std::string& path,
                                            int flags) {
  sqlite3* raw = nullptr;
  // No mutex of its own: whoever has the database serializes its use.
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (raw == nullptr) {
    return absl::ResourceExhaustedError("no memory for a database");
  }
  Database database(raw);  // Also after an error: it is to be closed.
  if (code != SQLITE_OK) {
    return SqliteStatus(raw, absl::StrCat("open ", path));
  }
  sqlite3_extended_result_codes(raw, 1);
  // Instead of SQLite's own, which writes FILE after some commits.
  sqlite3_wal_hook(raw, &NotePages, database.log_pages_.get());
  // SQLite opens a file that it may not write for reading, without a word.
  if (sqlite3_db_readonly(raw, "main") == 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("open ", path, ": it may not be written"));
  }
  return database;
}

std::string Database::File() const {
  const char* const file = sqlite3_db_filename(raw_.get(), "main");
  return file == nullptr ? "" : file;
}

absl::Status Database::Checkpoint() {
  const int code =
      sqlite3_wal_checkpoint_v2(raw_.get(), "main", SQLITE_CHECKPOINT_PASSIVE,
                                /*pnLog=*/nullptr, /*pnCkpt=*/nullptr);
  if (code == SQLITE_OK) return absl::OkStatus();
  return SqliteStatus(raw_.get(), "checkpoint");
}

void Database::LeaveFilesOnClose() {
  sqlite3_db_config(raw_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                    static_cast<int*>(nullptr));
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
