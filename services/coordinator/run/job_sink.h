#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOB_SINK_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOB_SINK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "services/coordinator/engine.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/decision_filter.h"
#include "services/coordinator/run/evaluation_queue.h"
#include "services/coordinator/run/roster.h"
#include "services/coordinator/run/run_observer.h"
#include "services/coordinator/run/run_record.h"
#include "services/coordinator/run/server_group.h"

namespace paceline {

// Turns the engine's outputs into commands on the members' streams, and into
// records. Decides nothing. Thread-safe.
class JobSink : public OutputSink {
 public:
  struct Wiring {
    const Clock* clock;
    Roster* roster;
    ServerGroup* servers;
    RunRecord* record;
    EvaluationQueue* evaluations;
    RunObserver* observer;
    JobMetrics* metrics;
    bool evaluate = false;  // Snapshots are wanted.
  };
  explicit JobSink(const Wiring& wiring) : to_(wiring) {}

  void Perform(const Output& output) override;
  void CallDone() override;

  // Whose fence, or which snapshot, the numbered command was; nothing if it was
  // another command.
  std::optional<WorkerId> FencedBy(uint64_t sequence) const;
  std::optional<int64_t> SnapshotOf(uint64_t sequence) const;

  bool finished() const;
  // Waits for it; the same.
  bool AwaitFinished(absl::Duration timeout) const;

 private:
  void Do(const Grant& grant);
  void Do(const PlanCommand& plan);
  void Do(const RefreshCommand& refresh);
  void Do(const AbandonCommand& abandon);
  void Do(const CloseCommand& close);
  void Do(const FenceCommand& fence);
  void Do(const SnapshotCommand& snapshot);
  void Do(const Evicted& evicted);
  void Do(const PushCounted& counted);
  void Do(const Switched& switched);
  void Do(const SwitchSettled& settled);
  void Do(const Recorded& recorded);
  void Do(const Finished& finished);

  void Tell(absl::Time at, const std::string& worker, const char* kind,
            const std::string& text, int64_t omitted);

  const Wiring to_;
  DecisionFilter filter_;  // Of the engine's lock, as the next two.
  std::optional<absl::Time> last_close_;
  // Whose push the core's current call counted without releasing them.
  absl::btree_set<WorkerId> not_released_;
  mutable absl::Mutex mu_;
  std::map<uint64_t, WorkerId> fences_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, int64_t> snapshots_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOB_SINK_H_
