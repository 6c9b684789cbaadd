#ifndef PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_STATEMENT_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_STATEMENT_H_

#include <sqlite3.h>

#include <cstdint>
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

  // Of the present row, columns from 0. Bytes are those of a text or a blob.
  int64_t IntAt(int column) const;
  std::string BytesAt(int column) const;

 private:
  void NoteBound(int code);

  sqlite3_stmt* statement_;
  int bound_ = 0;
  bool failed_ = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_SQLITE_STATEMENT_H_
