#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_POSTGRES_LOCK_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_POSTGRES_LOCK_H_

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <vector>

#include "services/coordinator/leadership/leader_lock.h"

namespace paceline {

// The record as a row of the table paceline_leader, which is made if it is not
// there. Beside it there is an advisory lock that the leader's connection
// holds: PostgreSQL frees it when the connection ends, so that nobody waits for
// a lease after a process that was killed.
class PostgresLock final : public LeaderLock {
 public:
  // `connection`: "postgresql://user@host/database" or "host=... dbname=...".
  // `cluster`: names the row; coordinators of one cluster share it.
  PostgresLock(std::string connection, std::string cluster);

  absl::StatusOr<Seen> Read() override;
  absl::StatusOr<std::string> Write(const LeaderRecord& record,
                                    const std::string& version) override;

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Result = std::unique_ptr<PGresult, Clear>;

  // A connection that has the table, with a bound for every wait.
  absl::Status Connect();
  absl::StatusOr<Result> Query(const char* sql,
                               const std::vector<std::string>& parameters = {});
  // Whether this connection holds the advisory lock, taking it if it is free.
  absl::StatusOr<bool> TakeLock();

  const std::string connection_text_;
  const std::string cluster_;
  std::unique_ptr<PGconn, Finish> connection_;
  bool holds_ = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_POSTGRES_LOCK_H_
