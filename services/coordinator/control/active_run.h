#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_ACTIVE_RUN_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_ACTIVE_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "services/coordinator/run/job_run.h"

namespace paceline {

// A run on its own thread. Thread-safe.
class ActiveRun {
 public:
  // `over` is called on that thread when the run is.
  ActiveRun(std::shared_ptr<JobRun> run, std::function<void()> over)
      : run_(std::move(run)), thread_([this, over = std::move(over)] {
          RunOutcome outcome = run_->Run();
          {
            absl::MutexLock lock(&mu_);
            outcome_ = std::move(outcome);
          }
          over();
        }) {}

  // Waits for the end of the run.
  ~ActiveRun() { thread_.join(); }

  JobRun& run() const { return *run_; }

  // Nothing while it goes on.
  std::optional<RunOutcome> outcome() const {
    absl::MutexLock lock(&mu_);
    return outcome_;
  }

 private:
  const std::shared_ptr<JobRun> run_;
  mutable absl::Mutex mu_;
  std::optional<RunOutcome> outcome_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_ACTIVE_RUN_H_
