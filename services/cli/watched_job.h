#ifndef PACELINE_SERVICES_CLI_WATCHED_JOB_H_
#define PACELINE_SERVICES_CLI_WATCHED_JOB_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/unique_fd.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/interruption.h"
#include "services/cli/json_fields.h"

namespace paceline {

// What happens to the job of one run. Used by one thread.
class JobFeed {
 public:
  struct News {
    std::vector<v1::WatchJobResponse> events;
    // The report of a job that succeeded, or why there is none. It comes once,
    // after all events. With "timeline", if that is wanted: RealTimeline()
    // (plot/real_run.h).
    std::optional<absl::StatusOr<Json>> report;
  };

  virtual ~JobFeed() = default;

  // Readable when Read() may have something.
  virtual int fd() const = 0;

  // What has come since the last call; does not block.
  virtual News Read() = 0;
};

// Creates a job through the admin API and watches it to its end, on a thread of
// its own.
class WatchedJob : public JobFeed {
 public:
  WatchedJob(std::string address, v1::CreateJobRequest request,
             bool wants_timeline = false);
  // Stops watching; the job goes on.
  ~WatchedJob() override;

  int fd() const override { return wake_.get(); }
  News Read() override;

 private:
  absl::StatusOr<Json> Watch();
  void Wake();

  const std::string address_;
  const v1::CreateJobRequest request_;
  const bool wants_timeline_;
  UniqueFd wake_;
  std::shared_ptr<Interruption> interruption_;
  absl::Mutex mu_;
  News news_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_WATCHED_JOB_H_
