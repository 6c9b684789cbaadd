#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/engine.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/checkpoint_order.h"
#include "services/coordinator/run/evaluation_queue.h"
#include "services/coordinator/run/job_sink.h"
#include "services/coordinator/run/roster.h"
#include "services/coordinator/run/run_observer.h"
#include "services/coordinator/run/run_record.h"
#include "services/coordinator/run/run_start.h"
#include "services/coordinator/run/server_group.h"
#include "services/coordinator/run/trace_writer.h"

namespace paceline {

// What a run is of, and whom it may use.
struct RunSetup {
  std::string job_name;
  // Names the run to the servers, and its entropy: never the same twice, not in
  // another life of the coordinator either.
  uint64_t run = 0;
  v1::JobSpec spec;  // Checked, with the defaults filled in.
  absl::Duration lease = absl::Seconds(10);
  std::vector<ServerLink> servers;  // At least one.
  // Each checkpoint gets a folder of its own in this one; empty: none is
  // written.
  std::string checkpoint_root = {};
  // The folder of the checkpoint from which the job goes on; empty: it begins.
  std::string restore_from = {};
  std::string traceparent = {};  // In which members do what they are told.
  std::string trace_file = {};   // Gets every iteration, for replay; or empty.
  // Whether any is connected, be it in use elsewhere.
  std::function<bool()> evaluator_exists = [] { return true; };
  // RESOURCE_EXHAUSTED if the job may not have so many bytes of parameters.
  std::function<absl::Status(int64_t bytes)> admit_parameters = {};
};

// How a run has ended.
struct RunOutcome {
  // OK: everything was counted, or it was paused. Otherwise why it failed, or
  // what Cancel() said.
  absl::Status status;
  // It ended before its time, and can be taken up again.
  bool paused = false;
  // Without being asked to pause: no worker was left.
  bool out_of_workers = false;
  // Before it trained: a server that it was to use has left.
  bool out_of_servers = false;
  // The last checkpoint that it wrote, exact; empty: none.
  std::string checkpoint = {};
};

// One job from its start, or from a checkpoint, until it ends or is paused. The
// fleet calls the first group of methods for the members' streams; Run() is the
// job itself, stage by stage, on the caller's thread.
//
// Thread-safe. Locks are taken in the order: this, engine, the leaves (roster,
// servers, evaluations, record, checkpoint).
class JobRun {
 public:
  // `clock` outlives the run.
  JobRun(RunSetup setup, const Clock* clock,
         std::shared_ptr<RunObserver> observer,
         std::shared_ptr<JobMetrics> metrics);
  ~JobRun();

  // A worker or evaluator was assigned to the job. INVALID_ARGUMENT for a name
  // that cannot be, FAILED_PRECONDITION when the run has ended.
  absl::StatusOr<WorkerId> WorkerCame(const v1::WorkerHello& hello,
                                      WorkerPeer peer);
  // The codes are those of Fleet.Worker.
  // FAILED_PRECONDITION of `ready`: it does not fit this job.
  absl::Status WorkerSaid(WorkerId worker, const v1::WorkerMessage& message);
  void WorkerGone(WorkerId worker, LossReason reason);
  // It is asked to finish its iteration and leave.
  void ReleaseWorker(WorkerId worker, absl::string_view reason);

  // One of the setup's servers, by its number in the fleet.
  absl::Status ServerSaid(uint64_t member, const v1::ServerMessage& message);
  void ServerGone(uint64_t member);
  // It is about to go. If it does before the training, nothing is lost.
  void ServerLeaves(uint64_t member);

  // Runs the job to its end. All members are told to stop before it returns.
  // Called once.
  RunOutcome Run();

  // Ends Run() soon. The first reason wins.
  void Cancel(const absl::Status& reason);

  // Ends Run() soon, with what is in flight counted and a checkpoint written
  // if the job had begun to train. Snapshots that wait then are evaluated for
  // so long at most.
  void Pause(absl::Duration evaluate_for);

  // Takes what is mutable of `spec` (types.proto) over from it: at once, if
  // the job trains.  REQUIRES: it has been checked.
  absl::Status Update(const v1::JobSpec& spec);

  // Engine::Switch(); before the training the job begins with it.
  absl::Status Switch(const std::string& paradigm, absl::string_view reason);

  // Begins to write a checkpoint; the observer hears of it.
  // FAILED_PRECONDITION: the job does not train, none can be written, or one
  // is being written.
  absl::Status WriteCheckpoint(const std::string& id);

  v1::JobProgress Progress() const;
  // Everything measured so far, as JSON text; empty before the training.
  std::string Report() const;
  // Snapshots wait for an evaluator.
  bool WantsEvaluator() const;
  // Nothing more is counted; what there is is being saved, or is saved.
  bool TrainingEnds() const { return sink_.finished(); }
  // Everything is saved; trainers have nothing to do any more.
  bool TrainingOver() const;
  bool UsesServer(uint64_t member) const {
    return servers_.IndexOf(member).has_value();
  }
  uint64_t run() const { return setup_.run; }
  const std::string& job_name() const { return setup_.job_name; }
  // Bytes of all parameters in fp32, once known.
  int64_t parameter_bytes() const;
  int64_t BytesPerServer() const {
    return parameter_bytes() / static_cast<int64_t>(servers_.size());
  }

 private:
  enum class Stage {
    kAssembling,  // Members prepare.
    kBeginning,   // Enough have, and agree; servers and weights are set up.
    kTraining,
    kEvaluating,  // What is left of it.
    kEnded,
  };
  // As the progress calls it.
  static absl::string_view PhaseName(Stage stage);

  // The stages of Run(), in order.
  absl::Status RunStages();
  absl::Status OpenFiles();
  absl::Status Assemble();
  absl::Status CheckAgreement();
  absl::Status HostBlocks();
  absl::Status InitializeWeights();
  absl::Status Train();
  absl::Status SaveResult();
  absl::Status Evaluate();
  // Empty while it is worth waiting for more, `worth_waiting` being when it was
  // so beyond doubt.
  std::string WhyNotEvaluate(absl::Time now, absl::Time& worth_waiting);

  // FAILED_PRECONDITION unless a member's model and data are the job's.
  absl::Status Agrees(bool evaluator, const v1::WorkerReady& ready) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AgreesWithStart() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeEngine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Does nothing if no worker is left: out_of_workers_.
  void StartEngine();
  void Begin(WorkerId worker, bool initialize)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WorkerReady(WorkerId worker, const v1::WorkerReady& ready);
  absl::Status Counted(WorkerId worker, const v1::PushDone& report);
  absl::Status OfAnIteration(WorkerId worker, const v1::WorkerMessage& message);
  absl::Status EvaluationDone(WorkerId worker, const v1::Evaluated& evaluated);
  void CommandDone(int server, const v1::CommandDone& done);
  // Its part of the model is lost.
  void ServerLost(int server, const absl::Status& why);
  // A snapshot is not evaluated, and others that gave way for want of room;
  // `who` says why.
  void DropEvaluation(int64_t snapshot, const std::string& who,
                      const absl::Status& why);
  // A decision of this run itself, for people; `whom` is a worker or "job".
  void Tell(const std::string& whom, const std::string& kind,
            const std::string& text);
  // The member cannot take part, whatever happens to it next.
  void TellUnfit(WorkerId worker, const absl::Status& why);
  void WorkerFailed(WorkerId worker, const absl::Status& why);
  bool Trains(const Member& member) const;
  // Why nobody can train this, if that is so.
  absl::Status LastFailure() const;

  // Sets the gauges that follow the progress. For Run()'s thread.
  void ExportProgress(const v1::JobProgress& progress);
  void ExportWorkers(const EngineView& view, const v1::JobProgress& progress);

  // What Train() does from time to time.
  absl::Status LookAfterTraining();
  // UNAVAILABLE if one of them hangs.
  absl::Status CheckServers() const;
  // An evaluator that hangs is let go, and what it had in hand is dropped.
  void EndStuckEvaluation();
  void SealIfDue(absl::Time now);
  void CheckpointIfDue(absl::Time now);
  // Zero: none is due.
  absl::Duration CheckpointInterval() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Time NextCheckpoint(absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string CheckpointId(absl::string_view kind) const;
  // False if one is being written.
  bool BeginCheckpoint(const std::string& id);
  // The manifest, once all servers have written or one hangs, and the
  // observer's word.
  void FinishCheckpoint();
  bool CheckpointOverdue() const;
  // It has failed, with whatever is written of it.
  void GiveUpCheckpoint(const absl::Status& why);
  absl::Status WriteManifest(const CheckpointOrder::Order& order) const;
  void EndCheckpoint(const CheckpointOrder::Order& order,
                     const absl::Status& written);
  // Waits for the one being written, if any; its status.
  absl::Status AwaitCheckpoint();

  // Calls `attempt` with short time-outs until it returns true. Ends early with
  // the job's failure, or DEADLINE_EXCEEDED naming `what` after `timeout`.
  absl::Status WaitFor(absl::string_view what, absl::Duration timeout,
                       const std::function<bool(absl::Duration)>& attempt);
  // Before the training: true once fewer trainers than the job needs have been
  // there for a lease. Others may take the places of those who went until then.
  // It is the job's fault, which fails with the first one's reason, if nobody
  // is left and one could not prepare it; else it waits for others
  // (out_of_workers_).
  bool FellShort();
  // Ends members outside the engine's care that have not been heard for a
  // lease: who loads, waits to begin, writes the starting weights, evaluates.
  void EndSilentMembers();
  void ReportProgress();
  void Enter(Stage stage);
  void StopEverybody(const absl::Status& outcome);

  int64_t EvaluationInterval() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int64_t SamplesWanted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool pausing() const;
  size_t workers_min() const;
  v1::StopConditions stop() const;
  absl::Status failure() const;
  Engine* engine() const;
  absl::Duration lease() const { return setup_.lease; }

  const RunSetup setup_;
  const Clock* const clock_;
  const std::shared_ptr<RunObserver> observer_;
  const std::shared_ptr<JobMetrics> metrics_;

  Roster roster_;
  ServerGroup servers_;
  RunRecord record_;
  EvaluationQueue evaluations_;
  JobSink sink_;
  CheckpointOrder checkpoint_;

  // Of Run()'s thread.
  RunStart start_;
  std::string last_checkpoint_;
  std::string last_interval_id_;  // Of the last one begun by its interval.
  bool sealed_ = false;
  bool out_of_time_ = false;  // Sealed by the limit of seconds.
  bool out_of_workers_ = false;
  absl::Time short_since_ = absl::InfiniteFuture();
  absl::Time next_report_;
  absl::Time somebody_seen_;
  absl::Status checkpoint_failure_;  // Of the last one.

  mutable absl::Mutex mu_;
  Stage stage_ ABSL_GUARDED_BY(mu_) = Stage::kAssembling;
  v1::JobSpec spec_ ABSL_GUARDED_BY(mu_);  // With what was updated.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  absl::Status unfit_ ABSL_GUARDED_BY(mu_);  // Why the first one was.
  // Why the trainer that went last had failed; OK if it went otherwise.
  absl::Status last_failure_ ABSL_GUARDED_BY(mu_);
  bool pausing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Duration evaluate_for_ ABSL_GUARDED_BY(mu_);  // If so.
  std::string server_lost_ ABSL_GUARDED_BY(mu_);  // While evaluating: its name.
  std::set<int> leaving_servers_ ABSL_GUARDED_BY(mu_);
  bool out_of_servers_ ABSL_GUARDED_BY(mu_) = false;  // Which is `failure_`.
  absl::Time next_checkpoint_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  v1::WorkerReady agreed_ ABSL_GUARDED_BY(mu_);  // Tensors and samples.
  std::vector<v1::Shard> shards_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<TraceWriter> trace_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Engine> engine_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_
