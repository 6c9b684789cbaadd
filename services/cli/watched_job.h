#ifndef PACELINE_SERVICES_CLI_WATCHED_JOB_H_
#define PACELINE_SERVICES_CLI_WATCHED_JOB_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/waker.h"
#include "services/cli/report_source.h"
#include "services/cli/unique_fd.h"

namespace paceline {

// Creates a job through the admin API and watches it to its end, on a thread of
// its own: what happens to it, as reports. The last one is the result, or why
// there is none.
class WatchedJob : public ReportSource {
 public:
  WatchedJob(std::string address, v1::CreateJobRequest request);
  // Stops watching; the job goes on.
  ~WatchedJob() override;

  int fd() const override { return wake_.get(); }
  std::vector<Report> Read() override;

 private:
  void Run();
  absl::Status Watch();
  // True once the job has ended.
  absl::StatusOr<bool> Take(AdminClient& client,
                            const v1::WatchJobResponse& event);
  absl::StatusOr<bool> TakeJob(AdminClient& client, const v1::Job& job);
  void Put(Report report);

  const std::string address_;
  const v1::CreateJobRequest request_;
  UniqueFd wake_;
  std::shared_ptr<Waker> waker_;
  bool started_ = false;  // Told so.
  absl::Mutex mu_;
  std::vector<Report> reports_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_WATCHED_JOB_H_
