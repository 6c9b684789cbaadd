#ifndef PACELINE_SERVICES_CLI_ADMIN_JOB_WATCHER_H_
#define PACELINE_SERVICES_CLI_ADMIN_JOB_WATCHER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/client.h"

namespace paceline {

// What happens to one job, through broken connections: it resumes where it was
// with the token of the last event. Used by one thread.
class JobWatcher {
 public:
  // `client` must outlive it.
  JobWatcher(AdminClient* client, const std::string& job);

  // The next event; nothing once the job has ended.
  //   NOT_FOUND          there is no such job (any more).
  //   DEADLINE_EXCEEDED  `until` has passed; it may be called again.
  //   UNAVAILABLE        the coordinator was away for a whole request timeout.
  //   CANCELLED          interrupted.
  absl::StatusOr<std::optional<v1::WatchJobResponse>> Next(absl::Time until);

 private:
  // The stream has ended so: OK if another one is to be tried.
  absl::Status Recover(const grpc::Status& status, absl::Time until);

  AdminClient* const client_;
  v1::WatchJobRequest request_;
  std::unique_ptr<AdminClient::JobStream> stream_;
  // Of the present outage.
  absl::Time outage_begin_ = absl::InfiniteFuture();
  int attempts_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_JOB_WATCHER_H_
