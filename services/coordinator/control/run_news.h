#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_NEWS_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_NEWS_H_

#include <cstdint>
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

// Wakes the control thread. Its lock also guards what the runs of all jobs have
// told until it is taken.
struct Inbox {
  absl::Mutex mu;  // A leaf.
  // The thread has something to look at.
  bool woken ABSL_GUARDED_BY(mu) = false;
  bool stopping ABSL_GUARDED_BY(mu) = false;
};

// What the runs of one job tell, passed on: events to those who watch, history
// to the store's queue, and what changes the job to whoever keeps the jobs. So
// no run ever waits for the disk, for a watcher, or for the lock of the jobs.
//
// Each run tells on one thread, and the runs of a job follow each other.
// Decisions may be told, and the rest may be called, on any thread.
class RunNews : public RunObserver {
 public:
  // What has changed since the last Take().
  struct Changes {
    bool started = false;
    int64_t train_samples = 0;  // If it has.
    std::optional<std::string> paradigm;
    std::optional<std::string> batching;
    // Whether it trains otherwise than its spec said, and how.
    bool of_spec() const { return paradigm || batching; }
    void ApplyTo(v1::JobSpec& spec) const {
      if (paradigm) spec.set_paradigm(*paradigm);
      if (batching) spec.set_batching(*batching);
    }
    std::optional<std::string> warning;
    struct Saved {
      v1::Checkpoint checkpoint;  // `name` is the id alone.
      bool again = false;         // One of that name has failed before.
    };
    std::vector<Saved> checkpoints;
    // That what was trained is saved is delayed, or was: one of them, the last.
    std::optional<SavingDelayed> delayed;
    bool saved = false;
  };

  // Decisions are numbered from `last_decision` + 1 on. The inbox is woken when
  // Take() has something; its lock guards the news. `journal` and `inbox`
  // outlive the news.
  RunNews(std::string uid, int64_t last_decision,
          std::shared_ptr<JobEvents> events, JobJournal* journal, Inbox* inbox);

  Changes Take();
  v1::JobProgress progress() const;
  // The number of the last decision so far.
  int64_t last_decision() const;

  void Started(int64_t parameters, int64_t train_samples) override;
  void Progressed(const v1::JobProgress& progress) override;
  void Evaluated(const v1::AccuracyPoint& point) override;
  void Decided(const v1::Decision& decision) override;
  void Warned(const std::string& text) override;
  void ParadigmSwitched(const std::string& paradigm) override;
  void BatchingSet(const std::string& batching) override;
  void CheckpointChanged(const v1::Checkpoint& checkpoint, bool again) override;
  void SavingWasDelayed(const SavingDelayed& delayed) override;
  void SavingHasSucceeded() override;

 private:
  const std::string uid_;
  const std::shared_ptr<JobEvents> events_;
  JobJournal* const journal_;
  Inbox* const inbox_;

  absl::Mutex telling_;  // So that decisions are told as they are numbered.
  int64_t last_decision_ ABSL_GUARDED_BY(inbox_->mu);
  v1::JobProgress progress_ ABSL_GUARDED_BY(inbox_->mu);
  Changes changes_ ABSL_GUARDED_BY(inbox_->mu);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_NEWS_H_
