#include "services/coordinator/store/job_store.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/coordinator/store/store_schema.h"

namespace paceline {
namespace {

constexpr char kMemory[] = ":memory:";

int64_t Nanos(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000'000'000 + time.nanos();
}

absl::Status CheckIntegrity(Database& database) {
  // SQLite's own words on the first damage, or "ok".
  PACELINE_ASSIGN_OR_RETURN(const auto damage,
                            database.Bytes("PRAGMA integrity_check(1)"));
  if (damage != "ok") return absl::DataLossError(damage.value_or("no answer"));
  // The table of the first row that refers to none.
  PACELINE_ASSIGN_OR_RETURN(const auto orphan,
                            database.Bytes("PRAGMA foreign_key_check"));
  if (!orphan.has_value()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("a row of ", *orphan, " belongs to no job"));
}

absl::Status Prepare(Database& database, absl::Duration busy_timeout) {
  const std::string timeout = absl::StrCat(
      "PRAGMA busy_timeout = ", absl::ToInt64Milliseconds(busy_timeout));
  PACELINE_RETURN_IF_ERROR(database.Execute(timeout.c_str()));
  // What is not ours, or damaged, stays as it is.
  PACELINE_RETURN_IF_ERROR(CheckVersion(database));
  PACELINE_RETURN_IF_ERROR(CheckIntegrity(database));
  PACELINE_RETURN_IF_ERROR(database.Execute(R"sql(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
PRAGMA journal_size_limit = 67108864;
)sql"));
  return Migrate(database);
}

// What to do about it, once it is known to be damaged.
absl::Status Advised(const absl::Status& status, const std::string& path) {
  const absl::Status named = Annotate(status, absl::StrCat("store ", path));
  if (!absl::IsDataLoss(status)) return named;
  return absl::DataLossError(absl::StrCat(
      named.message(), "; the file is damaged or no database: keep a copy of ",
      path, "*, then put a backup in its place, or move it away to begin with ",
      "an empty one, or try `sqlite3 ", path, " .recover | sqlite3 NEW`"));
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

// A negative one would be no limit.
int64_t Limit(int64_t limit) { return std::max<int64_t>(limit, 0); }

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
  }
  absl::StatusOr<Database> database = Database::Open(path);
  if (!database.ok()) return Advised(database.status(), path);
  const absl::Status prepared = Prepare(*database, options.busy_timeout);
  if (!prepared.ok()) return Advised(prepared, path);
  return absl::WrapUnique(
      new JobStore(std::move(lock), *std::move(database), options));
}

absl::Status JobStore::Write(const StoreBatch& batch) {
  if (batch.empty()) return absl::OkStatus();
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(Transaction transaction,
                            Transaction::Begin(&database_));
  PACELINE_RETURN_IF_ERROR(WriteJobs(batch));
  PACELINE_RETURN_IF_ERROR(WriteCheckpoints(batch));
  PACELINE_RETURN_IF_ERROR(WriteHistory(batch));
  PACELINE_RETURN_IF_ERROR(WriteRequests(batch));
  PACELINE_RETURN_IF_ERROR(WriteAudit(batch));
  return transaction.Commit();
}

absl::Status JobStore::WriteJobs(const StoreBatch& batch) {
  for (const std::string& uid : batch.deleted_jobs) {
    PACELINE_RETURN_IF_ERROR(
        database_.Run("DELETE FROM jobs WHERE uid = ?", uid));
  }
  for (const v1::Job& job : batch.jobs) {
    PACELINE_RETURN_IF_ERROR(Annotate(
        database_.Run("INSERT INTO jobs (uid, name, proto) VALUES (?, ?, ?) "
                      "ON CONFLICT (uid) DO UPDATE SET "
                      "name = excluded.name, proto = excluded.proto",
                      job.uid(), job.name(), job),
        job.name()));
  }
  return absl::OkStatus();
}

absl::Status JobStore::WriteCheckpoints(const StoreBatch& batch) {
  for (const std::string& name : batch.deleted_checkpoints) {
    PACELINE_RETURN_IF_ERROR(
        database_.Run("DELETE FROM checkpoints WHERE name = ?", name));
  }
  for (const auto& [uid, checkpoint] : batch.checkpoints) {
    PACELINE_RETURN_IF_ERROR(Annotate(
        database_.Run("INSERT INTO checkpoints (name, uid, created_ns, proto) "
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
        database_.Run("INSERT INTO reports (uid, json) VALUES (?, ?) "
                      "ON CONFLICT (uid) DO UPDATE SET json = excluded.json",
                      uid, json),
        uid));
  }
  return absl::OkStatus();
}

absl::Status JobStore::WriteHistory(const StoreBatch& batch) {
  for (const auto& [uid, decision] : batch.decisions) {
    PACELINE_RETURN_IF_ERROR(
        database_.Run("INSERT OR REPLACE INTO decisions (uid, sequence, proto) "
                      "SELECT ?1, ?2, ?3 "
                      "WHERE EXISTS (SELECT 1 FROM jobs WHERE uid = ?1)",
                      uid, decision.sequence(), decision));
  }
  for (const auto& [uid, point] : batch.accuracy_points) {
    PACELINE_RETURN_IF_ERROR(
        database_.Run("INSERT INTO accuracy_points (uid, sequence, proto) "
                      "SELECT ?1, 1 + COALESCE((SELECT MAX(sequence) "
                      "FROM accuracy_points WHERE uid = ?1), 0), ?2 "
                      "WHERE EXISTS (SELECT 1 FROM jobs WHERE uid = ?1)",
                      uid, point));
  }
  return absl::OkStatus();
}

absl::Status JobStore::WriteRequests(const StoreBatch& batch) {
  for (const auto& [identity, request_id] : batch.deleted_requests) {
    PACELINE_RETURN_IF_ERROR(
        database_.Run("DELETE FROM requests "
                      "WHERE identity = ? AND request_id = ?",
                      identity, request_id));
  }
  for (const AnsweredRequest& request : batch.requests) {
    PACELINE_RETURN_IF_ERROR(
        database_.Run("DELETE FROM requests WHERE expires_ns <= ?",
                      absl::ToUnixNanos(request.time)));
    PACELINE_RETURN_IF_ERROR(database_.Run(
        "INSERT OR REPLACE INTO requests "
        "(identity, request_id, digest, resource, expires_ns) "
        "VALUES (?, ?, ?, ?, ?)",
        request.identity, request.request_id, request.digest, request.resource,
        absl::ToUnixNanos(request.time + options_.requests_kept)));
  }
  return absl::OkStatus();
}

absl::Status JobStore::WriteAudit(const StoreBatch& batch) {
  if (batch.audit_records.empty()) return absl::OkStatus();
  for (const v1::AuditRecord& record : batch.audit_records) {
    PACELINE_RETURN_IF_ERROR(
        database_.Run("INSERT INTO audit_records (proto) VALUES (?)", record));
  }
  return database_.Run(
      "DELETE FROM audit_records WHERE sequence <= "
      "(SELECT MAX(sequence) FROM audit_records) - ?",
      options_.audit_records_max);
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

absl::StatusOr<std::vector<JobStore::NumberedPoint>>
JobStore::ListAccuracyPoints(const std::string& uid, int64_t after,
                             int64_t limit) {
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
