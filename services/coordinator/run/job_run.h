#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/checkpoint/folder_lanes.h"
#include "common/clock.h"
#include "common/job/job_defaults.h"
#include "common/job/job_plan.h"
#include "common/rng.h"
#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/course/training_view.h"
#include "services/coordinator/run/decision_filter.h"
#include "services/coordinator/run/disk_questions.h"
#include "services/coordinator/run/driver/run_driver.h"
#include "services/coordinator/run/run_observer.h"
#include "services/coordinator/run/run_record.h"
#include "services/coordinator/run/trace_writer.h"

namespace paceline {

class JobRun;

// Members' streams, to which a run sends its commands.
using WorkerPeer = OutgoingStream<v1::WorkerCommand>;
using ServerPeer = OutgoingStream<v1::ServerCommand>;

// A worker's or evaluator's part in one run, from its assignment until it has
// left: by it the run finds the stream, and the stream the run. Thread-safe.
struct RunSession {
  RunSession(std::weak_ptr<JobRun> its_run, WorkerId its_id,
             std::weak_ptr<WorkerPeer> its_stream)
      : run(std::move(its_run)),
        worker(its_id),
        stream(std::move(its_stream)) {}

  // Null once it is over: then the stream is for another run, or is gone.
  std::shared_ptr<WorkerPeer> Stream() const {
    return over ? nullptr : stream.lock();
  }

  const std::weak_ptr<JobRun> run;
  const WorkerId worker;  // In the run.
  const std::weak_ptr<WorkerPeer> stream;
  std::atomic<bool> over = false;
};

// How a member of a run is reached, and its labels.
struct LinkedMember {
  std::shared_ptr<const RunSession> session;
  std::string name;
  bool evaluator = false;
  std::string pool;
  std::string gpu_model;  // Of one without, its device.
};

// A parameter server that a run may use.
struct ServerLink {
  uint64_t member = 0;  // Its number in the fleet.
  std::string name;
  std::string address;  // "host:port", for workers.
  std::weak_ptr<ServerPeer> stream;
};

// What a run is of, and whom it may use.
struct RunSetup {
  std::string job_name;
  // Names the run to the servers, and its entropy: never the same twice, not in
  // another life of the coordinator either.
  uint64_t run = 0;
  JobPlan plan;
  absl::Duration lease = kDefaultLease;
  std::vector<ServerLink> servers;  // At least one.
  // Each checkpoint gets a folder of its own in this one; empty: none is
  // written.
  std::string checkpoint_root = {};
  // Where what was trained is saved if that cannot be there.
  std::vector<std::string> checkpoint_fallbacks = {};
  // The folder of the checkpoint from which the job goes on; empty: it begins.
  std::string restore_from = {};
  // On which the run reads and writes what belongs to checkpoints.
  std::shared_ptr<FolderLanes> lanes = std::make_shared<FolderLanes>();
  std::string traceparent = {};  // In which members do what they are told.
  std::string trace_file = {};   // Gets every iteration, for replay; or empty.
  // These three are called on the run's own thread, without a lock.
  // Whether any is connected, be it in use elsewhere.
  std::function<EvaluatorKnown()> find_evaluator = [] {
    return EvaluatorKnown{.exists = true};
  };
  // RESOURCE_EXHAUSTED if the job may not have so many bytes of parameters.
  std::function<absl::Status(int64_t bytes)> admit_parameters = [](int64_t) {
    return absl::OkStatus();
  };
  // The run has ended: outcome() has a value.
  std::function<void()> over = [] {};
};

// One run of a job: its course (run/course/) with the members' streams, the
// servers, the metrics, the files and the observer around it. It contains no
// rule.
//
// Thread-safe. Callers wait for nothing: commands are queued, and what takes
// time happens on the run's own thread, or, what a disk may hold up for ever,
// on a lane. Not to be destroyed on these threads.
class JobRun : private RunDriver {
 public:
  // `clock` outlives the run.
  JobRun(RunSetup setup, const Clock* clock,
         std::shared_ptr<RunObserver> observer,
         std::shared_ptr<JobMetrics> metrics);
  ~JobRun() override;

  // Opens its files; then the course begins. Called once.
  void Start();
  // How it has ended, once all members have been told to stop.
  std::optional<RunOutcome> outcome() const;

  // The number of the next member that is assigned to the run.
  WorkerId NextWorker() { return WorkerId{next_worker_++}; }
  // It is assigned with that number. FAILED_PRECONDITION if the run has ended.
  absl::Status OnWorkerConnected(std::shared_ptr<const RunSession> session,
                                 const v1::WorkerHello& hello);
  // Codes of Fleet.Worker. FAILED_PRECONDITION of `ready`: it does not fit.
  // OUT_OF_RANGE of `push_done`: the run goes on without it (WorkerPushed).
  absl::Status OnWorkerMessage(WorkerId worker,
                               const v1::WorkerMessage& message);
  void OnWorkerDisconnected(WorkerId worker);
  // It is asked to finish its iteration and leave.
  void ReleaseWorker(WorkerId worker, absl::string_view reason,
                     absl::StatusCode code = absl::StatusCode::kOk);

  // The setup's servers, by their numbers in the fleet.
  std::vector<uint64_t> Servers() const;
  absl::Status OnServerMessage(uint64_t member,
                               const v1::ServerMessage& message);
  void OnServerDisconnected(uint64_t member);
  // It is about to go. If it does before the training, nothing is lost.
  void OnServerLeaving(uint64_t member);

  // Ends the run soon. The first reason wins.
  void Cancel(const absl::Status& reason);
  // Ends it soon, with what is in flight counted and a checkpoint written if
  // the job had begun to train. Snapshots that wait then are evaluated for so
  // long at most.
  void Pause(absl::Duration evaluate_for);
  absl::Status Resume();  // FAILED_PRECONDITION once it has ended.
  // Takes what is mutable of a job's spec (types.proto) over from the plan: at
  // once, if the job trains.
  void Update(const JobPlan& plan);
  // The errors of the input SwitchRun (run_messages.h).
  absl::Status Switch(const ParadigmSpec& paradigm, absl::string_view reason);
  // As the input WriteCheckpoint; the observer hears of it.
  absl::Status WriteCheckpoint(const std::string& id,
                               const std::string& folder = "");

  v1::JobProgress Progress() const;
  // Everything measured so far, as JSON text; empty before the training.
  std::string Report() const;
  // What the worker of that name has brought about so far, samples counted, or
  // evaluators have, evaluations, be they of others. Only ever grows.
  int64_t DoneBy(const std::string& name, bool evaluator) const;
  bool WantsEvaluator() const;  // Snapshots wait for one.
  bool Loading() const;         // The training has not begun.
  // Nothing more is counted; what there is is being saved, or is saved.
  bool TrainingEnds() const;
  // Trainers have nothing to do any more, whether or not it could be saved.
  bool TrainingOver() const;
  // Its weights are not known to be saved, and may be yet.
  bool NeedsServers() const;
  void GiveUp() { given_up_ = true; }  // Nobody waits for that any more.
  uint64_t run() const { return setup_.run; }
  const std::string& job_name() const { return setup_.job_name; }
  // Of all parameters in fp32, once they are known.
  int64_t BytesPerServer() const;

 private:
  void Perform(absl::Time now, absl::Span<const RunOutput> outputs) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is to be done about an output: one specialization for each kind.
  template <class Value>
  void On(const Value& output) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::optional<int> IndexOf(uint64_t server) const;
  void SendToWorker(WorkerId worker, v1::WorkerCommand command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellDecision(absl::Time at, std::string whom, std::string kind,
                    std::string text, int64_t omitted, bool costs_work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountReport(WorkerId worker, const v1::PushDone& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountHeld(absl::Span<const RunOutput> outputs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::JobProgress ProgressAt(absl::Time now) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);

  // On the run's own thread.
  void OpenFiles();
  void ExportProgress(const v1::JobProgress& progress, const TrainingView& view,
                      const std::map<WorkerId, LinkedMember>& members);
  void TellCheckpoint(const CheckpointChanged& changed);
  void TellEnd(RunOutcome outcome);

  const RunSetup setup_;
  const std::shared_ptr<RunObserver> observer_;
  const std::shared_ptr<JobMetrics> metrics_;
  std::atomic<uint32_t> next_worker_ = 1;
  std::atomic<bool> given_up_ = false;

  absl::Time now_ ABSL_GUARDED_BY(mu_);    // Of the step that is performed.
  v1::JobSpec spec_ ABSL_GUARDED_BY(mu_);  // With what was updated.
  std::map<WorkerId, LinkedMember> members_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::Shard> shards_ ABSL_GUARDED_BY(mu_);
  Rng incarnations_ ABSL_GUARDED_BY(mu_);
  RunRecord record_ ABSL_GUARDED_BY(mu_);
  DecisionFilter filter_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Time> last_close_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // The course has.
  std::optional<RunOutcome> outcome_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<TraceWriter> trace_;  // Of the run's own thread.
  DiskQuestions disk_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_
