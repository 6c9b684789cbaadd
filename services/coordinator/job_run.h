#ifndef PACELINE_SERVICES_COORDINATOR_JOB_RUN_H_
#define PACELINE_SERVICES_COORDINATOR_JOB_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/engine.h"
#include "services/coordinator/evaluation_queue.h"
#include "services/coordinator/job_sink.h"
#include "services/coordinator/reporter.h"
#include "services/coordinator/roster.h"
#include "services/coordinator/run_record.h"
#include "services/coordinator/server_group.h"
#include "services/coordinator/trace_writer.h"

namespace paceline {

// One job from the registration of its members to its result. The streams call
// the first group of methods; Run() is the job itself, stage by stage, on the
// caller's thread.
//
// Thread-safe. Locks are taken in the order: this, engine, the leaves (roster,
// servers, evaluations, record).
class JobRun {
 public:
  // INVALID_ARGUMENT if the spec's paradigm, schedule, counts or times cannot
  // be. `clock`, `reporter` and `metrics` outlive the run.
  static absl::StatusOr<std::unique_ptr<JobRun>> Create(
      const v1::JobSpec& spec, uint64_t entropy, const Clock* clock,
      Reporter* reporter, CoordinatorMetrics* metrics);
  ~JobRun();

  // A worker's or evaluator's stream; the codes are those of Fleet.Worker.
  absl::StatusOr<WorkerId> WorkerCame(const v1::WorkerHello& hello,
                                      WorkerPeer peer);
  absl::Status WorkerSaid(WorkerId worker, const v1::WorkerMessage& message);
  void WorkerGone(WorkerId worker, LossReason reason);

  // A parameter server's stream; the codes are those of Fleet.Server.
  absl::StatusOr<int> ServerCame(const v1::ServerHello& hello, ServerPeer peer);
  absl::Status ServerSaid(int server, const v1::ServerMessage& message);
  void ServerGone(int server);

  // Runs the job to its end and reports its result. The status is the job's: a
  // member that cannot take part or a lost server ends it with their reason,
  // the end of all workers with UNAVAILABLE, Cancel() with CANCELLED. All
  // members are told to stop before it returns. Called once.
  absl::Status Run();

  // Has every iteration written to `trace`, which outlives the run, and closes
  // it; Run() fails with its error. Before Run().
  void RecordTo(TraceWriter* trace) { trace_ = trace; }

  // Ends Run() soon. The first reason wins.
  void Cancel(const absl::Status& reason);

 private:
  enum class Stage {
    kAssembling,  // Members register and prepare.
    kBeginning,   // Enough have, and agree; servers and weights are set up.
    kTraining,
    kEvaluating,  // What is left of it.
    kEnded,
  };
  // As the progress report calls it.
  static absl::string_view StateName(Stage stage);

  JobRun(const v1::JobSpec& spec, const RateSpec& rate, uint64_t entropy,
         const Clock* clock, Reporter* reporter, CoordinatorMetrics* metrics);

  // The stages of Run(), in order.
  absl::Status Assemble();
  absl::Status CheckAgreement();
  absl::Status HostBlocks();
  absl::Status InitializeWeights();
  absl::Status Train();
  absl::Status Evaluate();

  // FAILED_PRECONDITION unless a member's model and data are the job's.
  absl::Status Agrees(bool evaluator, const v1::WorkerReady& ready) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeEngine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // UNAVAILABLE if no worker is left by now.
  absl::Status StartEngine();
  void Begin(WorkerId worker, bool initialize)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WorkerReady(WorkerId worker, const v1::WorkerReady& ready);
  absl::Status Counted(WorkerId worker, const v1::PushDone& report);
  absl::Status OfAnIteration(WorkerId worker, const v1::WorkerMessage& message);
  absl::Status EvaluationDone(WorkerId worker, const v1::Evaluated& evaluated);
  void CommandDone(int server, const v1::CommandDone& done);

  // Calls `attempt` with short time-outs until it returns true. Ends early with
  // the job's failure, or DEADLINE_EXCEEDED naming `what` after `timeout`.
  absl::Status WaitFor(absl::string_view what, absl::Duration timeout,
                       const std::function<bool(absl::Duration)>& attempt);
  // Ends members outside the engine's care that have not been heard for a
  // lease: who loads, waits to begin, writes the starting weights, evaluates;
  // and servers.
  void EndSilentMembers();
  void ReportProgress();
  void Enter(Stage stage);
  void StopEverybody(const absl::Status& outcome);

  absl::Status failure() const;
  Engine* engine() const;
  absl::Duration lease() const { return absl::Milliseconds(spec_.lease_ms()); }

  const v1::JobSpec spec_;
  const RateSpec rate_;
  const Clock* const clock_;
  Reporter* const reporter_;
  CoordinatorMetrics* const metrics_;
  TraceWriter* trace_ = nullptr;

  Roster roster_;
  ServerGroup servers_;
  RunRecord record_;
  EvaluationQueue evaluations_;
  JobSink sink_;

  mutable absl::Mutex mu_;
  Stage stage_ ABSL_GUARDED_BY(mu_) = Stage::kAssembling;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  v1::WorkerReady agreed_ ABSL_GUARDED_BY(mu_);  // Tensors and samples.
  std::vector<v1::Shard> shards_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Engine> engine_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOB_RUN_H_
