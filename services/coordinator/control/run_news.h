#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_NEWS_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_NEWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/run/run_observer.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/watch/job_events.h"

namespace paceline {

// What the runs of one job tell, passed on: events to those who watch, history
// to the store's queue, and what changes the job to whoever keeps the jobs. So
// no run ever waits for the disk, for a watcher, or for a lock of the jobs.
//
// Thread-safe; its lock comes before those of the events and the journal.
class RunNews : public RunObserver {
 public:
  // What has changed since the last Take().
  struct Changes {
    bool started = false;
    std::optional<std::string> paradigm;
    std::vector<v1::Checkpoint> checkpoints;  // `name` is the id alone.
  };

  // Decisions are numbered from `last_decision` + 1 on. `changed` is called
  // without a lock when Take() has something; it must only note that. The
  // journal outlives the news.
  RunNews(std::string uid, int64_t last_decision,
          std::shared_ptr<JobEvents> events, JobJournal* journal,
          std::function<void()> changed);

  Changes Take();
  v1::JobProgress progress() const;
  // The number of the last decision so far.
  int64_t last_decision() const;

  void Started(int64_t parameters, int64_t train_samples) override;
  void Progressed(const v1::JobProgress& progress) override;
  void Evaluated(const v1::AccuracyPoint& point) override;
  void Decided(const v1::Decision& decision) override;
  void ParadigmSwitched(const std::string& paradigm) override;
  void CheckpointChanged(const v1::Checkpoint& checkpoint) override;

 private:
  const std::string uid_;
  const std::shared_ptr<JobEvents> events_;
  JobJournal* const journal_;
  const std::function<void()> changed_;

  mutable absl::Mutex mu_;
  int64_t last_decision_ ABSL_GUARDED_BY(mu_);
  v1::JobProgress progress_ ABSL_GUARDED_BY(mu_);
  Changes changes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_NEWS_H_
