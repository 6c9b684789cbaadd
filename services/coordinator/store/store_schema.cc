#include "services/coordinator/store/store_schema.h"

#include <cstdint>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

// Says in the file's header that it is ours: "PCLN". Load-bearing.
constexpr int64_t kApplicationId = 0x50434c4e;

// Rows hold a serialized message, and in columns what they are found by.
constexpr const char* kSteps[] = {
    // 1: jobs and what belongs to one.
    R"sql(
CREATE TABLE jobs (
  uid   TEXT NOT NULL PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,
  proto BLOB NOT NULL
);
CREATE TABLE decisions (
  uid      TEXT    NOT NULL REFERENCES jobs (uid) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  proto    BLOB    NOT NULL,
  PRIMARY KEY (uid, sequence)
) WITHOUT ROWID;
CREATE TABLE accuracy_points (
  uid      TEXT    NOT NULL REFERENCES jobs (uid) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  proto    BLOB    NOT NULL,
  PRIMARY KEY (uid, sequence)
) WITHOUT ROWID;
CREATE TABLE checkpoints (
  name       TEXT    NOT NULL PRIMARY KEY,
  uid        TEXT    NOT NULL REFERENCES jobs (uid) ON DELETE CASCADE,
  created_ns INTEGER NOT NULL,
  proto      BLOB    NOT NULL
);
CREATE INDEX checkpoints_of_job ON checkpoints (uid, created_ns);
CREATE TABLE reports (
  uid  TEXT NOT NULL PRIMARY KEY REFERENCES jobs (uid) ON DELETE CASCADE,
  json TEXT NOT NULL
);
)sql",
    // 2: who did what, and which requests were answered.
    R"sql(
CREATE TABLE audit_records (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  proto    BLOB NOT NULL
);
CREATE TABLE requests (
  identity   TEXT    NOT NULL,
  request_id TEXT    NOT NULL,
  digest     TEXT    NOT NULL,
  resource   TEXT    NOT NULL,
  expires_ns INTEGER NOT NULL,
  PRIMARY KEY (identity, request_id)
) WITHOUT ROWID;
CREATE INDEX requests_by_expiry ON requests (expires_ns);
)sql",
};

absl::Status TakeStep(Database& database, const char* step, int64_t version) {
  PACELINE_ASSIGN_OR_RETURN(Transaction transaction,
                            Transaction::Begin(&database));
  PACELINE_RETURN_IF_ERROR(database.Execute(step));
  const std::string pragmas =
      absl::StrCat("PRAGMA application_id = ", kApplicationId,
                   "; PRAGMA user_version = ", version);
  PACELINE_RETURN_IF_ERROR(database.Execute(pragmas.c_str()));
  return transaction.Commit();
}

}  // namespace

absl::Span<const char* const> StoreMigrations() { return kSteps; }

absl::Status CheckVersion(Database& database) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t application,
                            database.Number("PRAGMA application_id"));
  PACELINE_ASSIGN_OR_RETURN(const int64_t version,
                            database.Number("PRAGMA user_version"));
  PACELINE_ASSIGN_OR_RETURN(
      const int64_t tables,
      database.Number("SELECT COUNT(*) FROM sqlite_master"));
  const bool empty = application == 0 && version == 0 && tables == 0;
  if (!empty && application != kApplicationId) {
    return absl::FailedPreconditionError(
        "it is the database of another program; name another file");
  }
  const auto newest = static_cast<int64_t>(std::size(kSteps));
  if (version >= 0 && version <= newest) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "it is of version ", version, " and this program knows versions up to ",
      newest, "; use the newer program that wrote it, or another file"));
}

absl::Status Migrate(Database& database, absl::Span<const char* const> steps) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t version,
                            database.Number("PRAGMA user_version"));
  for (auto next = static_cast<size_t>(version); next < steps.size(); ++next) {
    const auto reached = static_cast<int64_t>(next + 1);
    PACELINE_RETURN_IF_ERROR(
        Annotate(TakeStep(database, steps[next], reached),
                 absl::StrCat("upgrade to version ", reached)));
  }
  return absl::OkStatus();
}

}  // namespace paceline
