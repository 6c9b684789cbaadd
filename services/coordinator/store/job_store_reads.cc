// What a JobStore gives back.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {
namespace {

// `bytes` as the message that they were written as.
template <typename Message>
absl::StatusOr<Message> Read(const std::string& bytes) {
  Message message;
  if (message.ParseFromString(bytes)) return message;
  return absl::DataLossError(
      absl::StrCat("a stored ", Message::descriptor()->name(),
                   " cannot be read; put a backup in the store's place"));
}

// The messages of all rows, whose first column they are.
template <typename Message>
absl::StatusOr<std::vector<Message>> ReadAll(Statement& rows) {
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

absl::StatusOr<std::vector<v1::Job>> JobStore::LoadJobs() {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement rows, database_.Use("SELECT proto FROM jobs ORDER BY name"));
  return ReadAll<v1::Job>(rows);
}

absl::StatusOr<std::vector<v1::Decision>> JobStore::ListDecisions(
    const std::string& uid, int64_t after, int64_t limit) {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement rows,
      database_.Use("SELECT proto FROM decisions "
                    "WHERE uid = ? AND sequence > ? ORDER BY sequence "
                    "LIMIT ?"));
  rows.Text(uid).Int(after).Int(Limit(limit));
  return ReadAll<v1::Decision>(rows);
}

absl::StatusOr<int64_t> JobStore::LastDecisionSequence(const std::string& uid) {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement last,
      database_.Use("SELECT COALESCE(MAX(sequence), 0) FROM decisions "
                    "WHERE uid = ?"));
  last.Text(uid);
  PACELINE_ASSIGN_OR_RETURN(const bool row, last.Step());
  return row ? last.IntAt(0) : 0;
}

absl::StatusOr<std::vector<JobStore::NumberedPoint>>
JobStore::ListAccuracyPoints(const std::string& uid, int64_t after,
                             int64_t limit) {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement rows,
      database_.Use("SELECT proto, sequence FROM accuracy_points "
                    "WHERE uid = ? AND sequence > ? ORDER BY sequence "
                    "LIMIT ?"));
  rows.Text(uid).Int(after).Int(Limit(limit));
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
  PACELINE_ASSIGN_OR_RETURN(
      Statement rows,
      database_.Use("SELECT proto FROM checkpoints WHERE uid = ? "
                    "ORDER BY created_ns DESC, name"));
  rows.Text(uid);
  return ReadAll<v1::Checkpoint>(rows);
}

absl::StatusOr<std::optional<std::string>> JobStore::GetReport(
    const std::string& uid) {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement report,
      database_.Use("SELECT json FROM reports WHERE uid = ?"));
  report.Text(uid);
  PACELINE_ASSIGN_OR_RETURN(const bool row, report.Step());
  if (!row) return std::nullopt;
  return report.BytesAt(0);
}

absl::StatusOr<std::vector<v1::AuditRecord>> JobStore::ListAuditRecords(
    int64_t before, int64_t limit) {
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(
      Statement rows,
      database_.Use("SELECT proto, sequence FROM audit_records "
                    "WHERE sequence < ? ORDER BY sequence DESC LIMIT ?"));
  rows.Int(before > 0 ? before : INT64_MAX).Int(Limit(limit));
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
      database_.Use("SELECT digest, resource, expires_ns FROM requests "
                    "WHERE identity = ? AND request_id = ? "
                    "AND expires_ns > ?"));
  request.Text(identity).Text(request_id).Int(absl::ToUnixNanos(now));
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
