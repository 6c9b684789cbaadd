#include "services/coordinator/leadership/postgres_lock.h"

#include <poll.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/status.h"

namespace paceline {
namespace {

// Every wait is shorter than a lease, on both sides: a connection that is dead
// without a word must not keep the lock for long either.
constexpr char kBounds[] = R"sql(
SET statement_timeout = '2s';
SET lock_timeout = '2s';
SET tcp_keepalives_idle = 1;
SET tcp_keepalives_interval = 1;
SET tcp_keepalives_count = 3;
)sql";

constexpr char kTable[] = R"sql(
CREATE TABLE IF NOT EXISTS paceline_leader (
  cluster text PRIMARY KEY,
  version bigint NOT NULL,
  holder text NOT NULL,
  address text NOT NULL,
  term bigint NOT NULL,
  standby text NOT NULL,
  beat bigint NOT NULL,
  released boolean NOT NULL);
)sql";

// The key of the advisory lock: FNV-1a of the cluster's name.
std::string KeyOf(const std::string& cluster) {
  uint64_t hash = 14695981039346656037u;
  for (const unsigned char c : cluster) hash = (hash ^ c) * 1099511628211u;
  return absl::StrCat(static_cast<int64_t>(hash));
}

absl::Status Unreachable(const char* words) {
  return absl::UnavailableError(absl::StrCat(
      "the leader's lock in PostgreSQL: ", absl::StripAsciiWhitespace(words)));
}

// Until a result can be had without waiting. False: there is none in time.
bool Await(PGconn* connection) {
  const absl::Time until = absl::Now() + absl::Seconds(2);
  while (PQisBusy(connection) == 1) {
    const int64_t left = absl::ToInt64Milliseconds(until - absl::Now());
    pollfd readable = {.fd = PQsocket(connection), .events = POLLIN};
    if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) <= 0) {
      return false;
    }
    if (PQconsumeInput(connection) == 0) return false;
  }
  return true;
}

uint64_t NumberAt(const PGresult* result, int column) {
  uint64_t number = 0;
  return absl::SimpleAtoi(PQgetvalue(result, 0, column), &number) ? number : 0;
}

}  // namespace

PostgresLock::PostgresLock(std::string connection, std::string cluster)
    : connection_text_(std::move(connection)), cluster_(std::move(cluster)) {}

absl::Status PostgresLock::Connect() {
  if (connection_ != nullptr && PQstatus(connection_.get()) == CONNECTION_OK) {
    return absl::OkStatus();
  }
  holds_ = false;
  const char* const names[] = {"dbname", "connect_timeout", "tcp_user_timeout",
                               "application_name", nullptr};
  const char* const values[] = {connection_text_.c_str(), "2", "2000",
                                "paceline-coordinator", nullptr};
  connection_.reset(PQconnectdbParams(names, values, /*expand_dbname=*/1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    return Unreachable(PQerrorMessage(connection_.get()));
  }
  PACELINE_RETURN_IF_ERROR(Query(kBounds).status());
  return Query(kTable).status();
}

absl::StatusOr<PostgresLock::Result> PostgresLock::Query(
    const char* sql, const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const std::string& parameter : parameters) {
    values.push_back(parameter.c_str());
  }
  // Several statements at once may have no parameters.
  PGconn* const connection = connection_.get();
  const int sent =
      values.empty()
          ? PQsendQuery(connection, sql)
          : PQsendQueryParams(connection, sql, static_cast<int>(values.size()),
                              nullptr, values.data(), nullptr, nullptr, 0);
  Result result;
  for (bool more = sent == 1; more;) {
    if (!Await(connection)) {
      result.reset();
      break;
    }
    Result next(PQgetResult(connection));
    more = next != nullptr;
    if (more) result = std::move(next);  // The last one counts.
  }
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    const absl::Status failed =
        Unreachable(result == nullptr ? "no answer in time"
                                      : PQerrorMessage(connection_.get()));
    connection_.reset();  // Whatever it holds is given back.
    holds_ = false;
    return failed;
  }
  return result;
}

absl::StatusOr<bool> PostgresLock::TakeLock() {
  if (holds_) return true;
  PACELINE_ASSIGN_OR_RETURN(
      const Result taken,
      Query("SELECT pg_try_advisory_lock($1::bigint)", {KeyOf(cluster_)}));
  holds_ = PQgetvalue(taken.get(), 0, 0)[0] == 't';
  return holds_;
}

absl::StatusOr<LeaderLock::Seen> PostgresLock::Read() {
  PACELINE_RETURN_IF_ERROR(Connect());
  PACELINE_ASSIGN_OR_RETURN(
      const Result row,
      Query("SELECT version, holder, address, term, standby, beat, released "
            "FROM paceline_leader WHERE cluster = $1",
            {cluster_}));
  // Who stands by may hold it for a moment, and gives it back.
  const bool had = holds_;
  PACELINE_ASSIGN_OR_RETURN(const bool free, TakeLock());
  if (free && !had) {
    PACELINE_RETURN_IF_ERROR(
        Query("SELECT pg_advisory_unlock($1::bigint)", {KeyOf(cluster_)})
            .status());
    holds_ = false;
  }
  Seen seen;
  seen.vacant = free && !had;
  if (PQntuples(row.get()) == 0) return seen;
  seen.version = PQgetvalue(row.get(), 0, 0);
  seen.record = LeaderRecord{.holder = PQgetvalue(row.get(), 0, 1),
                             .address = PQgetvalue(row.get(), 0, 2),
                             .term = NumberAt(row.get(), 3),
                             .standby = PQgetvalue(row.get(), 0, 4),
                             .beat = NumberAt(row.get(), 5),
                             .released = PQgetvalue(row.get(), 0, 6)[0] == 't'};
  return seen;
}

absl::StatusOr<std::string> PostgresLock::Write(const LeaderRecord& record,
                                                const std::string& version) {
  PACELINE_RETURN_IF_ERROR(Connect());
  // A leader that is frozen holds it still: the record decides.
  PACELINE_RETURN_IF_ERROR(TakeLock().status());
  const std::vector<std::string> values = {cluster_,
                                           record.holder,
                                           record.address,
                                           absl::StrCat(record.term),
                                           record.standby,
                                           absl::StrCat(record.beat),
                                           record.released ? "true" : "false"};
  Result row;
  if (version.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        row, Query("INSERT INTO paceline_leader VALUES "
                   "($1, 1, $2, $3, $4::bigint, $5, $6::bigint, "
                   "$7::boolean) "
                   "ON CONFLICT DO NOTHING RETURNING version",
                   values));
  } else {
    std::vector<std::string> with_version = values;
    with_version.push_back(version);
    PACELINE_ASSIGN_OR_RETURN(
        row, Query("UPDATE paceline_leader SET version = version + 1, "
                   "holder = $2, address = $3, term = $4::bigint, "
                   "standby = $5, beat = $6::bigint, released = $7::boolean "
                   "WHERE cluster = $1 AND version = $8::bigint "
                   "RETURNING version",
                   with_version));
  }
  if (PQntuples(row.get()) == 0) {
    return absl::AbortedError("the leader's record is another one");
  }
  return std::string(PQgetvalue(row.get(), 0, 0));
}

}  // namespace paceline
