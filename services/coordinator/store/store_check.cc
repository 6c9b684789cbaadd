#include "services/coordinator/store/store_check.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/store/store_schema.h"

namespace paceline {
namespace {

// How long it waits for a coordinator that writes.
constexpr char kPatience[] = "PRAGMA busy_timeout = 5000";

absl::StatusOr<Database> OpenIfThere(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError("there is no such file");
  }
  PACELINE_ASSIGN_OR_RETURN(Database database, Database::OpenExisting(path));
  database.LeaveFilesOnClose();
  PACELINE_RETURN_IF_ERROR(database.Execute(kPatience));
  return database;
}

absl::StatusOr<StoreContents> Read(Database& database) {
  PACELINE_RETURN_IF_ERROR(CheckVersion(database));
  PACELINE_RETURN_IF_ERROR(CheckIntegrity(database));
  StoreContents contents;
  PACELINE_ASSIGN_OR_RETURN(contents.version,
                            database.Number("PRAGMA user_version"));
  if (contents.version == 0) return contents;  // It has no tables yet.
  PACELINE_ASSIGN_OR_RETURN(
      contents.checkpoints,
      database.Number("SELECT COUNT(*) FROM checkpoints"));
  PACELINE_ASSIGN_OR_RETURN(Statement rows,
                            database.Query("SELECT name, proto FROM jobs"));
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return contents;
    v1::Job job;
    if (!job.ParseFromString(rows.BytesAt(1))) {
      return absl::DataLossError(
          absl::StrCat("the job ", rows.BytesAt(0), " cannot be read"));
    }
    ++contents.jobs[v1::Job::State_Name(job.state())];
  }
}

absl::StatusOr<StoreContents> CheckFile(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(Database database, OpenIfThere(path));
  return Read(database);
}

absl::Status Copy(const std::string& path, const std::string& copy) {
  PACELINE_ASSIGN_OR_RETURN(Database database, OpenIfThere(path));
  PACELINE_RETURN_IF_ERROR(CheckVersion(database));
  return database.Run("VACUUM INTO ?", absl::string_view(copy));
}

}  // namespace

absl::Status CheckPages(Database& database, const char* pragma) {
  PACELINE_ASSIGN_OR_RETURN(const auto damage, database.Bytes(pragma));
  if (damage == "ok") return absl::OkStatus();
  return absl::DataLossError(
      absl::StrReplaceAll(damage.value_or("no answer"), {{"\n", " "}}));
}

absl::Status CheckIntegrity(Database& database) {
  PACELINE_RETURN_IF_ERROR(CheckPages(database, "PRAGMA integrity_check(1)"));
  // The table of the first row that refers to none.
  PACELINE_ASSIGN_OR_RETURN(const auto orphan,
                            database.Bytes("PRAGMA foreign_key_check"));
  if (!orphan.has_value()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("a row of ", *orphan, " belongs to no job"));
}

absl::Status WithAdvice(const absl::Status& status, const std::string& path) {
  const absl::Status named = Annotate(status, absl::StrCat("store ", path));
  if (!absl::IsDataLoss(status)) return named;
  return absl::DataLossError(absl::StrCat(
      named.message(), "; the file is damaged or no database: keep a copy of ",
      path, "*, then put a backup in its place, or move it away to begin with ",
      "an empty one, or try `sqlite3 ", path, " .recover | sqlite3 NEW`"));
}

std::string StoreContents::Describe() const {
  std::string text = absl::StrCat("version ", version);
  for (const auto& [state, count] : jobs) {
    absl::StrAppend(&text, ", ", count, " ", state);
  }
  if (jobs.empty()) absl::StrAppend(&text, ", no jobs");
  return absl::StrCat(text, ", ", checkpoints, " checkpoints");
}

absl::StatusOr<StoreContents> CheckStore(const std::string& path) {
  absl::StatusOr<StoreContents> contents = CheckFile(path);
  if (!contents.ok()) return WithAdvice(contents.status(), path);
  return contents;
}

absl::StatusOr<StoreContents> BackUpStore(const std::string& path,
                                          const std::string& copy) {
  std::error_code error;
  if (std::filesystem::exists(copy, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(copy, " is there: name a file that is not"));
  }
  const absl::Status copied = Copy(path, copy);
  if (!copied.ok()) {
    std::filesystem::remove(copy, error);  // What there is of it.
    return WithAdvice(copied, path);
  }
  return CheckStore(copy);
}

}  // namespace paceline
