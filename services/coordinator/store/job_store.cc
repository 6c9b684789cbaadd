#include "services/coordinator/store/job_store.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/log/log.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/store/store_change.h"
#include "services/coordinator/store/store_check.h"
#include "services/coordinator/store/store_schema.h"

namespace paceline {
namespace {

constexpr char kMemory[] = ":memory:";

// As many as SQLite itself takes: 4 MiB.
constexpr int kLogPages = 1000;

int64_t Nanos(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000'000'000 + time.nanos();
}

absl::Status SetBusyTimeout(Database& database, absl::Duration busy_timeout) {
  const std::string timeout = absl::StrCat(
      "PRAGMA busy_timeout = ", absl::ToInt64Milliseconds(busy_timeout));
  return database.Execute(timeout.c_str());
}

// `whole`: all of it is read, to find damage.
absl::Status Prepare(Database& database, const StoreOptions& options,
                     bool whole) {
  PACELINE_RETURN_IF_ERROR(SetBusyTimeout(database, options.busy_timeout));
  // What is not ours, or damaged, stays as it is.
  PACELINE_RETURN_IF_ERROR(CheckVersion(database));
  if (whole) PACELINE_RETURN_IF_ERROR(CheckIntegrity(database));
  PACELINE_RETURN_IF_ERROR(database.Execute(R"sql(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
PRAGMA journal_size_limit = 67108864;
)sql"));
  if (options.fsync) {
    PACELINE_RETURN_IF_ERROR(database.Execute("PRAGMA synchronous = FULL"));
  }
  return Migrate(database);
}

// A file that is read in so little time that nobody minds to wait for it.
bool IsSmall(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error || size < uintmax_t{64} << 20;
}

// `bytes` as the message that they were written as.
template <typename Message>
absl::StatusOr<Message> Read(const std::string& bytes) {
  Message message;
  if (message.ParseFromString(bytes)) return message;
  return absl::DataLossError(
      absl::StrCat("a stored ", Message::descriptor()->name(),
                   " cannot be read; put a backup in the store's place"));
}

// The messages of all rows that `sql` gives, whose first column they are.
template <typename Message, typename... Parameters>
absl::StatusOr<std::vector<Message>> ReadAll(Database& database,
                                             const char* sql,
                                             const Parameters&... parameters) {
  PACELINE_ASSIGN_OR_RETURN(Statement rows, database.Query(sql, parameters...));
  std::vector<Message> messages;
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return messages;
    PACELINE_ASSIGN_OR_RETURN(Message message, Read<Message>(rows.BytesAt(0)));
    messages.push_back(std::move(message));
  }
}

// The files of a database that is prepared; none if it is in memory alone.
absl::StatusOr<std::optional<StoreFiles>> FilesOf(Database& database,
                                                  const std::string& path) {
  const std::string file = database.File();
  if (file.empty()) return std::nullopt;
  return StoreFiles::Of(path, file);
}

// Where a file is to be, and is not, another one may wait for a person.
absl::Status CheckNotRescued(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > 0) return absl::OkStatus();
  const std::string rescue = StoreFiles::NewestRescue(path);
  if (rescue.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "store ", path, " is not there, or empty; but there is ", rescue,
      ", which a coordinator has saved when its store was taken away: move ",
      "that file to ", path,
      " to go on with it, or move it elsewhere to begin ",
      "with an empty store"));
}

// Of a write: whether it tells that nothing can be stored, rather than that
// this is not to be.
bool IsOfTheFile(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status) ||
         absl::IsDataLoss(status) || absl::IsInternal(status);
}

absl::StatusOr<JobFingerprints> FingerprintJobs(Database& database) {
  PACELINE_ASSIGN_OR_RETURN(Statement rows,
                            database.Query("SELECT uid, proto FROM jobs"));
  JobFingerprints jobs;
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return jobs;
    jobs[rows.BytesAt(0)] = std::hash<std::string>()(rows.BytesAt(1));
  }
}

// A negative one would be no limit.
int64_t Limit(int64_t limit) { return std::max<int64_t>(limit, 0); }

absl::Status WriteJobs(Database& database, const StoreBatch& batch) {
  for (const std::string& uid : batch.deleted_jobs) {
    PACELINE_RETURN_IF_ERROR(
        database.Run("DELETE FROM jobs WHERE uid = ?", uid));
  }
  for (const v1::Job& job : batch.jobs) {
    PACELINE_RETURN_IF_ERROR(Annotate(
        database.Run("INSERT INTO jobs (uid, name, proto) VALUES (?, ?, ?) "
                     "ON CONFLICT (uid) DO UPDATE SET "
                     "name = excluded.name, proto = excluded.proto",
                     job.uid(), job.name(), job),
        job.name()));
  }
  return absl::OkStatus();
}

absl::Status WriteCheckpoints(Database& database, const StoreBatch& batch) {
  for (const std::string& name : batch.deleted_checkpoints) {
    PACELINE_RETURN_IF_ERROR(
        database.Run("DELETE FROM checkpoints WHERE name = ?", name));
  }
  for (const auto& [uid, checkpoint] : batch.checkpoints) {
    PACELINE_RETURN_IF_ERROR(Annotate(
        database.Run("INSERT INTO checkpoints (name, uid, created_ns, proto) "
                     "VALUES (?, ?, ?, ?) "
                     "ON CONFLICT (name) DO UPDATE SET uid = excluded.uid, "
                     "created_ns = excluded.created_ns, "
                     "proto = excluded.proto",
                     checkpoint.name(), uid, Nanos(checkpoint.create_time()),
                     checkpoint),
        checkpoint.name()));
  }
  for (const auto& [uid, json] : batch.reports) {
    PACELINE_RETURN_IF_ERROR(Annotate(
        database.Run("INSERT INTO reports (uid, json) VALUES (?, ?) "
                     "ON CONFLICT (uid) DO UPDATE SET json = excluded.json",
                     uid, json),
        uid));
  }
  return absl::OkStatus();
}

absl::Status WriteHistory(Database& database, const StoreBatch& batch) {
  for (const auto& [uid, decision] : batch.decisions) {
    PACELINE_RETURN_IF_ERROR(
        database.Run("INSERT OR REPLACE INTO decisions (uid, sequence, proto) "
                     "SELECT ?1, ?2, ?3 "
                     "WHERE EXISTS (SELECT 1 FROM jobs WHERE uid = ?1)",
                     uid, decision.sequence(), decision));
  }
  for (const auto& [uid, point] : batch.accuracy_points) {
    PACELINE_RETURN_IF_ERROR(
        database.Run("INSERT INTO accuracy_points (uid, sequence, proto) "
                     "SELECT ?1, 1 + COALESCE((SELECT MAX(sequence) "
                     "FROM accuracy_points WHERE uid = ?1), 0), ?2 "
                     "WHERE EXISTS (SELECT 1 FROM jobs WHERE uid = ?1)",
                     uid, point));
  }
  return absl::OkStatus();
}

absl::Status WriteRequests(Database& database, const StoreBatch& batch,
                           const StoreOptions& options) {
  for (const auto& [identity, request_id] : batch.deleted_requests) {
    PACELINE_RETURN_IF_ERROR(
        database.Run("DELETE FROM requests "
                     "WHERE identity = ? AND request_id = ?",
                     identity, request_id));
  }
  for (const AnsweredRequest& request : batch.requests) {
    PACELINE_RETURN_IF_ERROR(
        database.Run("DELETE FROM requests WHERE expires_ns <= ?",
                     absl::ToUnixNanos(request.time)));
    PACELINE_RETURN_IF_ERROR(database.Run(
        "INSERT OR REPLACE INTO requests "
        "(identity, request_id, digest, resource, expires_ns) "
        "VALUES (?, ?, ?, ?, ?)",
        request.identity, request.request_id, request.digest, request.resource,
        absl::ToUnixNanos(request.time + options.requests_kept)));
  }
  return absl::OkStatus();
}

absl::Status WriteAudit(Database& database, const StoreBatch& batch,
                        const StoreOptions& options) {
  if (batch.audit_records.empty()) return absl::OkStatus();
  for (const v1::AuditRecord& record : batch.audit_records) {
    PACELINE_RETURN_IF_ERROR(
        database.Run("INSERT INTO audit_records (proto) VALUES (?)", record));
  }
  return database.Run(
      "DELETE FROM audit_records WHERE sequence <= "
      "(SELECT MAX(sequence) FROM audit_records) - ?",
      options.audit_records_max);
}

// Whether the store's volume has room for another one.
absl::Status CheckRoomForCopy(const std::string& path) {
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (unknown) return absl::OkStatus();  // The copy itself will tell.
  const auto free =
      std::filesystem::space(std::filesystem::path(path).parent_path(), unknown)
          .available;
  if (unknown || free > size) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a standby needs a copy of ", path, ", which has ", size,
                   " bytes, and its volume has ", free, " free"));
}

}  // namespace

bool StoreBatch::empty() const {
  return deleted_jobs.empty() && jobs.empty() && deleted_checkpoints.empty() &&
         checkpoints.empty() && reports.empty() && decisions.empty() &&
         accuracy_points.empty() && deleted_requests.empty() &&
         requests.empty() && audit_records.empty();
}

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::Open(
    const std::string& path, const StoreOptions& options) {
  std::optional<FileLock> lock;
  if (path != kMemory) {
    PACELINE_ASSIGN_OR_RETURN(
        FileLock taken,
        Annotate(FileLock::Take(path + ".lock"), absl::StrCat("store ", path)));
    lock.emplace(std::move(taken));
    PACELINE_RETURN_IF_ERROR(CheckNotRescued(path));
  }
  absl::StatusOr<Database> database = Database::Open(path);
  if (!database.ok()) return WithAdvice(database.status(), path);
  const bool small = IsSmall(path);
  const absl::Status prepared = Prepare(*database, options, small);
  if (!prepared.ok()) return WithAdvice(prepared, path);
  auto files = FilesOf(*database, path);
  if (!files.ok()) return WithAdvice(files.status(), path);
  auto stored = FingerprintJobs(*database);
  if (!stored.ok()) return WithAdvice(stored.status(), path);
  auto store = absl::WrapUnique(
      new JobStore(path, std::move(lock), *std::move(database),
                   *std::move(files), *std::move(stored), options));
  absl::MutexLock held(&store->mu_);
  store->unchecked_ = !small;
  return store;
}

JobStore::JobStore(const std::string& path, std::optional<FileLock> lock,
                   Database database, std::optional<StoreFiles> files,
                   JobFingerprints stored, const StoreOptions& options)
    : path_(path),
      options_(options),
      lock_(std::move(lock)),
      database_(std::move(database)),
      files_(std::move(files)),
      stored_(std::move(stored)) {
  if (options_.feed != nullptr) options_.feed->Add(this);
}

JobStore::~JobStore() {
  if (options_.feed != nullptr) options_.feed->Remove(this);
}

absl::Status JobStore::Write(const StoreBatch& batch) {
  if (batch.empty()) return absl::OkStatus();
  {
    absl::MutexLock lock(&mu_);
    PACELINE_RETURN_IF_ERROR(CheckPromise());
    PACELINE_RETURN_IF_ERROR(Commit(batch));
  }
  if (options_.feed != nullptr) options_.feed->AwaitHeld();
  return absl::OkStatus();
}

absl::Status JobStore::AppendAll(uint64_t following) {
  const std::string copy = absl::StrCat(path_, ".copy");
  std::remove(copy.c_str());
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(CheckRoomForCopy(path_));
  // What is open stays. What is left of a copy that failed would take the room
  // that the next writes need.
  absl::Cleanup removed = [&copy] { std::remove(copy.c_str()); };
  PACELINE_RETURN_IF_ERROR(
      database_.Run("VACUUM INTO ?", absl::string_view(copy)));
  auto file = std::make_shared<const UniqueFd>(
      open(copy.c_str(), O_RDONLY | O_CLOEXEC));
  std::error_code unknown;
  const auto size = std::filesystem::file_size(copy, unknown);
  if (!file->valid() || unknown) {
    return absl::InternalError("the copy cannot be read");
  }
  options_.feed->AppendFile(following, "", std::move(file),
                            static_cast<int64_t>(size));
  following_ = following;
  return absl::OkStatus();
}

absl::Status JobStore::Record(const StoreBatch& batch) {
  if (batch.empty()) return absl::OkStatus();
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(LookAtFiles());
  return Commit(batch);
}

void JobStore::Check() {
  CheckWhole();
  absl::MutexLock lock(&mu_);
  if (!LookAtFiles().ok()) return;
  const absl::Status health = this->health();
  if (health == gone_ || absl::IsDataLoss(health)) return;
  const absl::Status written = WriteNothing();
  NoteLog();
  NoteHealth(written).IgnoreError();
}

void JobStore::CheckWhole() {
  {
    absl::MutexLock lock(&mu_);
    if (!std::exchange(unchecked_, false)) return;
  }
  const absl::Status checked = CheckStore(path_).status();
  if (!absl::IsDataLoss(checked)) return;
  absl::MutexLock lock(&mu_);
  if (damaged_.ok()) NoteDamage(checked);
}

void JobStore::NoteDamage(const absl::Status& damage) {
  damaged_ = WithReason(damage, "STORE_DAMAGED");
  database_.LeaveFilesOnClose();
  LogError(damaged_.message());
  absl::MutexLock lock(&health_mu_);
  health_ = damaged_;
}

void JobStore::NoteLog() {
  if (files_.has_value()) files_->NoteLogWritten(database_.log_pages());
}

absl::Status JobStore::health() const {
  absl::MutexLock lock(&health_mu_);
  return health_;
}

absl::Status JobStore::NoteHealth(const absl::Status& status) {
  if (!status.ok() && !IsOfTheFile(status)) return status;
  const absl::Status named = WithAdvice(status, path_);
  absl::MutexLock lock(&health_mu_);
  // What is damaged stays so, whatever else can be written.
  if (!absl::IsDataLoss(health_)) health_ = named.ok() ? gone_ : named;
  return named;
}

absl::Status JobStore::CheckPromise() {
  PACELINE_RETURN_IF_ERROR(LookAtFiles());
  return gone_;
}

absl::Status JobStore::LookAtFiles() {
  if (!files_.has_value()) return absl::OkStatus();
  if (!damaged_.ok()) return damaged_;
  const absl::Status names = files_->CheckNames();
  if (!names.ok()) return Rescue(names);
  if (!not_rescued_.ok()) {
    not_rescued_ = absl::OkStatus();
    LogInfo(absl::StrCat("store ", path_, ": its files are back"));
    NoteHealth(absl::OkStatus()).IgnoreError();
  }
  return files_->WrittenByAnother() ? CheckContents() : absl::OkStatus();
}

absl::Status JobStore::Rescue(const absl::Status& gone) {
  if (!not_rescued_.ok()) return not_rescued_;  // Once is enough.
  const absl::Status moved = MoveToRescue(gone);
  if (!moved.ok()) {
    not_rescued_ = WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "store ", path_, ": ", gone.message(),
            "; nothing is kept until it is back, and what is known could not "
            "be saved: ",
            moved.message())),
        "STORE_GONE");
  }
  const absl::Status& told = moved.ok() ? gone_ : not_rescued_;
  LogError(told.message());
  absl::MutexLock lock(&health_mu_);
  health_ = told;
  return not_rescued_;
}

absl::StatusOr<Database> JobStore::CopyTo(const std::string& rescue) {
  PACELINE_RETURN_IF_ERROR(database_.Run("VACUUM INTO ?", rescue));
  PACELINE_ASSIGN_OR_RETURN(Database copy, Database::OpenExisting(rescue));
  PACELINE_RETURN_IF_ERROR(Prepare(copy, options_, /*whole=*/true));
  return copy;
}

absl::Status JobStore::MoveToRescue(const absl::Status& gone) {
  PACELINE_ASSIGN_OR_RETURN(const std::string rescue,
                            files_->MakeRescue(absl::Now()));
  absl::StatusOr<Database> copy = CopyTo(rescue);
  if (!copy.ok()) {
    std::remove(rescue.c_str());
    return copy.status();
  }
  PACELINE_ASSIGN_OR_RETURN(std::optional<StoreFiles> files,
                            FilesOf(*copy, rescue));
  files_->RemoveLog();
  database_ = *std::move(copy);
  files_ = std::move(files);
  gone_ =
      WithReason(absl::FailedPreconditionError(absl::StrCat(
                     "store ", path_, ": ", gone.message(),
                     "; nothing new is taken, and what is known is kept in ",
                     rescue, ": stop the coordinator, move that file to ",
                     path_, " and start it again")),
                 "STORE_GONE");
  return absl::OkStatus();
}

absl::Status JobStore::CheckContents() {
  StoreFiles seen = *files_;
  seen.NoteWritten();
  absl::Status same = ReadAnew();
  same.Update(files_->CheckLog());
  seen.NoteLogWritten(database_.log_pages());
  if (same.ok()) {  // A backup, say, that has made one of SQLite's checkpoints.
    files_ = seen;
    return absl::OkStatus();
  }
  // Another program holds it: this is for the next call.
  if (absl::IsUnavailable(same) || absl::IsResourceExhausted(same)) {
    return NoteHealth(same);
  }
  NoteDamage(absl::DataLossError(absl::StrCat(
      "store ", path_, ": another program has written into it while in ",
      "use, and what was stored is not in it any more (", same.message(),
      "); nothing is kept from now on: stop the coordinator, keep a copy ",
      "of ", path_, "*, put a backup in its place and start it again")));
  // It may be a backup that was copied over it, which our pages would spoil.
  files_->PutLogAside(absl::Now());
  return damaged_;
}

absl::Status JobStore::ReadAnew() {
  if (files_->Empty()) return absl::DataLossError("it is empty");
  // Another connection: this one has pages in memory.
  PACELINE_ASSIGN_OR_RETURN(Database anew,
                            Database::OpenExisting(files_->path()));
  PACELINE_RETURN_IF_ERROR(SetBusyTimeout(anew, options_.busy_timeout));
  PACELINE_RETURN_IF_ERROR(CheckVersion(anew));
  PACELINE_RETURN_IF_ERROR(CheckPages(anew, "PRAGMA quick_check(1)"));
  PACELINE_ASSIGN_OR_RETURN(const JobFingerprints jobs, FingerprintJobs(anew));
  if (jobs == stored_) return absl::OkStatus();
  return absl::DataLossError("its jobs are others");
}

absl::Status JobStore::WriteNothing() {
  PACELINE_ASSIGN_OR_RETURN(Transaction transaction,
                            Transaction::Begin(&database_));
  PACELINE_ASSIGN_OR_RETURN(const int64_t version,
                            database_.Number("PRAGMA user_version"));
  // The same number again is written all the same.
  const std::string pragma = absl::StrCat("PRAGMA user_version = ", version);
  PACELINE_RETURN_IF_ERROR(database_.Execute(pragma.c_str()));
  return transaction.Commit();
}

absl::Status JobStore::Commit(const StoreBatch& batch) {
  const absl::Status written = WriteAll(batch);
  NoteLog();
  PACELINE_RETURN_IF_ERROR(NoteHealth(written));
  for (const std::string& uid : batch.deleted_jobs) stored_.erase(uid);
  for (const v1::Job& job : batch.jobs) {
    stored_[job.uid()] = std::hash<std::string>()(job.SerializeAsString());
  }
  if (options_.feed != nullptr) {
    options_.feed->Append(following_, ToChange(batch));
  }
  if (database_.log_pages() < kLogPages) return absl::OkStatus();
  // What is in the log is stored: if this fails, a later one does it.
  database_.Checkpoint().IgnoreError();
  if (files_.has_value()) files_->NoteWritten();
  return absl::OkStatus();
}

absl::Status JobStore::WriteAll(const StoreBatch& batch) {
  PACELINE_ASSIGN_OR_RETURN(Transaction transaction,
                            Transaction::Begin(&database_));
  PACELINE_RETURN_IF_ERROR(WriteJobs(database_, batch));
  PACELINE_RETURN_IF_ERROR(WriteCheckpoints(database_, batch));
  PACELINE_RETURN_IF_ERROR(WriteHistory(database_, batch));
  PACELINE_RETURN_IF_ERROR(WriteRequests(database_, batch, options_));
  PACELINE_RETURN_IF_ERROR(WriteAudit(database_, batch, options_));
  return transaction.Commit();
}

absl::Status JobStore::DeleteJob(const std::string& uid) {
  return Write({.deleted_jobs = {uid}});
}

absl::Status JobStore::PutCheckpoint(const std::string& uid,
                                     const v1::Checkpoint& checkpoint) {
  return Write({.checkpoints = {{uid, checkpoint}}});
}

absl::Status JobStore::DeleteCheckpoint(const std::string& name) {
  return Write({.deleted_checkpoints = {name}});
}

absl::StatusOr<std::vector<v1::Job>> JobStore::LoadJobs() {
  absl::MutexLock lock(&mu_);
  return ReadAll<v1::Job>(database_, "SELECT proto FROM jobs ORDER BY name");
}

absl::StatusOr<std::vector<v1::Decision>> JobStore::ListDecisions(
    const std::string& uid, int64_t after, int64_t limit) {
  absl::MutexLock lock(&mu_);
  return ReadAll<v1::Decision>(
      database_,
      "SELECT proto FROM decisions WHERE uid = ? AND sequence > ? "
      "ORDER BY sequence LIMIT ?",
      uid, after, Limit(limit));
}

absl::StatusOr<int64_t> JobStore::LastDecisionSequence(const std::string& uid) {
  absl::MutexLock lock(&mu_);
  return database_.Number(
      "SELECT COALESCE(MAX(sequence), 0) FROM decisions WHERE uid = ?", uid);
}

absl::StatusOr<int64_t> JobStore::LastAccuracyPoint(const std::string& uid) {
  absl::MutexLock lock(&mu_);
  return database_.Number(
      "SELECT COALESCE(MAX(sequence), 0) FROM accuracy_points WHERE uid = ?",
      uid);
}

absl::StatusOr<std::vector<NumberedPoint>> JobStore::ListAccuracyPoints(
    const std::string& uid, int64_t after, int64_t limit) {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement rows,
      database_.Query("SELECT proto, sequence FROM accuracy_points "
                      "WHERE uid = ? AND sequence > ? ORDER BY sequence "
                      "LIMIT ?",
                      uid, after, Limit(limit)));
  std::vector<NumberedPoint> points;
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return points;
    NumberedPoint point;
    point.sequence = rows.IntAt(1);
    PACELINE_ASSIGN_OR_RETURN(point.point,
                              Read<v1::AccuracyPoint>(rows.BytesAt(0)));
    points.push_back(std::move(point));
  }
}

absl::StatusOr<std::vector<v1::Checkpoint>> JobStore::ListCheckpoints(
    const std::string& uid) {
  absl::MutexLock lock(&mu_);
  return ReadAll<v1::Checkpoint>(database_,
                                 "SELECT proto FROM checkpoints WHERE uid = ? "
                                 "ORDER BY created_ns DESC, name",
                                 uid);
}

absl::StatusOr<std::optional<std::string>> JobStore::GetReport(
    const std::string& uid) {
  absl::MutexLock lock(&mu_);
  return database_.Bytes("SELECT json FROM reports WHERE uid = ?", uid);
}

absl::StatusOr<std::vector<v1::AuditRecord>> JobStore::ListAuditRecords(
    int64_t before, int64_t limit) {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement rows,
      database_.Query("SELECT proto, sequence FROM audit_records "
                      "WHERE sequence < ? ORDER BY sequence DESC LIMIT ?",
                      before > 0 ? before : INT64_MAX, Limit(limit)));
  std::vector<v1::AuditRecord> records;
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return records;
    absl::StatusOr<v1::AuditRecord> record =
        Read<v1::AuditRecord>(rows.BytesAt(0));
    // One that cannot be read must not hide the others.
    if (!record.ok()) record.emplace().set_message("this record is damaged");
    record->set_sequence(rows.IntAt(1));
    records.push_back(*std::move(record));
  }
}

absl::StatusOr<std::optional<AnsweredRequest>> JobStore::FindRequest(
    const std::string& identity, const std::string& request_id,
    absl::Time now) {
  absl::MutexLock lock(&mu_);
  // What was answered once is promised.
  PACELINE_RETURN_IF_ERROR(CheckPromise());
  PACELINE_ASSIGN_OR_RETURN(
      Statement request,
      database_.Query("SELECT digest, resource, expires_ns FROM requests "
                      "WHERE identity = ? AND request_id = ? "
                      "AND expires_ns > ?",
                      identity, request_id, absl::ToUnixNanos(now)));
  PACELINE_ASSIGN_OR_RETURN(const bool row, request.Step());
  if (!row) return std::nullopt;
  return AnsweredRequest{
      .identity = identity,
      .request_id = request_id,
      .digest = request.BytesAt(0),
      .resource = request.BytesAt(1),
      .time = absl::FromUnixNanos(request.IntAt(2)) - options_.requests_kept};
}

}  // namespace paceline
