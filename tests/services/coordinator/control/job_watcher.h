#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_JOB_WATCHER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_JOB_WATCHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "services/coordinator/watch/job_events.h"

namespace paceline {

// Reads what happens to one job from its making on, as a caller of WatchJob
// does.
class JobWatcher {
 public:
  explicit JobWatcher(std::shared_ptr<JobEvents> events);
  ~JobWatcher();
  JobWatcher(const JobWatcher&) = delete;
  JobWatcher& operator=(const JobWatcher&) = delete;

  // Reads on to the first response of which that is true. The test fails, and
  // says `what`, if the job ends first or nothing comes; then an empty one.
  v1::WatchJobResponse Await(
      const std::string& what,
      const std::function<bool(const v1::WatchJobResponse&)>& wanted);
  // To the job in that state.
  v1::Job AwaitState(v1::Job::State state);
  // To the job with that in its reason.
  v1::Job AwaitReason(const std::string& part);
  v1::Checkpoint AwaitCheckpoint(v1::Checkpoint::State state);
  // Reads to the end; its status.
  absl::Status AwaitEnd();

 private:
  struct Signal {
    absl::Mutex mu;
    uint64_t changes ABSL_GUARDED_BY(mu) = 0;
  };

  std::optional<v1::WatchJobResponse> Next();
  // False if nothing comes.
  bool AwaitChange();

  const std::shared_ptr<JobEvents> events_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  uint64_t seen_ = 0;
  uint64_t subscription_ = 0;
  JobEvents::Cursor cursor_;
  std::optional<v1::WatchJobResponse> first_;  // The job as it was then.
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_JOB_WATCHER_H_
