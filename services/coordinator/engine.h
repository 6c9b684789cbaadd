#ifndef PACELINE_SERVICES_COORDINATOR_ENGINE_H_
#define PACELINE_SERVICES_COORDINATOR_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "services/coordinator/policy/sync_core.h"

namespace paceline {

// Performs what the core decided. Called with the engine's lock held, in the
// order of the decisions: it must only queue, never wait nor call the engine.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void Perform(const Output& output) = 0;
  // All outputs of one call of the core are performed.
  virtual void CallDone() {}
};

// Where a running job stands.
struct EngineView {
  struct Worker {
    WorkerId worker;
    WorkerClock clock = 0;
    double straggler_score = 0;  // StragglerDetector::Score
    bool straggler = false;
    uint32_t batch = 0;                         // SyncCore::BatchOf
    std::optional<int64_t> lag = std::nullopt;  // SyncCore::LagOf
  };
  Version version = 0;
  int64_t samples_counted = 0;
  int64_t samples_total = 0;
  bool finished = false;
  PolicyView policy;
  std::vector<Worker> workers;  // Members, sorted.
};

// The live driver of a SyncCore: it turns the concurrency of the streams into
// one sequence of calls, supplies the time, and calls Tick() when a deadline of
// the core is reached. No rule is in it.
//
// Thread-safe. The methods are the core's; see there.
class Engine {
 public:
  // `clock` and `sink` outlive the engine.
  Engine(const Clock* clock, const SyncOptions& options,
         std::unique_ptr<SyncPolicy> policy, OutputSink* sink);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void Start(absl::Span<const WorkerId> workers);
  void Join(WorkerId worker);
  void Heard(WorkerId worker);
  absl::Status PushDone(WorkerId worker, const PushReport& report);
  absl::Status GradientReady(WorkerId worker, Iteration iteration);
  absl::Status Abandoned(WorkerId worker, Iteration iteration);
  void Leave(WorkerId worker, LossReason reason);
  void FenceAnswered(WorkerId worker, const FenceAnswer& answer);
  void Seal();

  // The paradigm that `spec` names (MakePolicy()) takes over at once; `reason`
  // is for people. INVALID_ARGUMENT, and nothing changes, if it names none;
  // FAILED_PRECONDITION once the job has finished.
  absl::Status Switch(absl::string_view spec, absl::string_view reason);

  // As SyncCore's.
  void SetSchedule(const RateSchedule& schedule);
  void SetMaxSamples(int64_t samples);
  void SetBatching(Batching batching);

  // Hands `snapshot` a point from which the job can go on, in one order with
  // the outputs: what it queues to the servers comes between the closings that
  // belong to the point and those that do not. It must only queue.
  void TakeResumePoint(absl::FunctionRef<void(const ResumePoint&)> snapshot);

  EngineView View() const;
  std::string DescribePolicy() const;

 private:
  // Performs the outputs that the calls of the core have left.
  void PerformAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunTimer();

  const Clock* const clock_;
  OutputSink* const sink_;

  mutable absl::Mutex mu_;
  SyncCore core_ ABSL_GUARDED_BY(mu_);
  std::vector<Output> outputs_ ABSL_GUARDED_BY(mu_);
  absl::Time timer_due_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::CondVar timer_moved_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::thread timer_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ENGINE_H_
