#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/checkpoint/folder_lanes.h"
#include "common/clock.h"
#include "common/job/batched_paradigm.h"
#include "common/job/job_plan.h"
#include "common/rng.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/course/training_view.h"
#include "services/coordinator/run/decision_filter.h"
#include "services/coordinator/run/disk_questions.h"
#include "services/coordinator/run/driver/run_driver.h"
#include "services/coordinator/run/journal/run_journal.h"
#include "services/coordinator/run/journal/run_log.h"
#include "services/coordinator/run/linked_member.h"
#include "services/coordinator/run/pace_history.h"
#include "services/coordinator/run/replayed_session.h"
#include "services/coordinator/run/run_observer.h"
#include "services/coordinator/run/run_record.h"
#include "services/coordinator/run/run_servers.h"
#include "services/coordinator/run/run_setup.h"
#include "services/coordinator/run/shard_series.h"
#include "services/coordinator/run/trace_writer.h"
#include "services/coordinator/run/training_paces.h"

namespace paceline {

// Why a run ends that has lost its end (JobRun::LoseEnd), for people.
inline constexpr absl::string_view kLostEnd =
    "the coordinator has restarted, and its journal of the run lacks what "
    "happened last";

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

  // A run of another life of the coordinator, from its journal: it is again
  // what it was, but that its members are awaited: servers, and the workers
  // that `setup.restore_worker` restores; others are gone. It is not to be
  // started. Of `setup` what the journal does not know is taken: file, lanes,
  // version and what is called.
  //
  // NOT_FOUND: there is no journal. FAILED_PRECONDITION: the run cannot go on
  // from it, for it has not begun to train, or was that of another version, or
  // what is written there cannot be.
  // DATA_LOSS: a life that has read it has not survived that. In these cases
  // the journal is removed.
  static absl::StatusOr<std::shared_ptr<JobRun>> FromJournal(
      RunSetup setup, const Clock* clock, std::shared_ptr<RunObserver> observer,
      std::shared_ptr<JobMetrics> metrics);

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

  // Servers that have a part of the model, by their numbers in the fleet.
  std::vector<uint64_t> Servers() const;
  // Whether what it has is nowhere else, and needed.
  bool Needs(uint64_t server) const;
  // Whether all that the server of that name has can go to others.
  bool CanHandOver(absl::string_view name) const;
  // What it has of the known model, as if under `paradigm` if there is one.
  std::vector<v1::HostedShard> ShardsOn(
      uint64_t server, const ParadigmSpec* paradigm = nullptr) const;
  // Another one that the run may use. Nothing happens if it knows it.
  void OfferServer(const ServerLink& server);
  // One has registered, with those of its shards. False: it is not awaited, or
  // lacks what only it had, and they are to be dropped.
  bool OnServerReturned(const ServerLink& server,
                        const std::vector<v1::HeldShard>& held);
  // Those that have not come back by now will not.
  void LoseAwaitedServers();
  absl::Status OnServerMessage(uint64_t member,
                               const v1::ServerMessage& message);
  void OnServerDisconnected(uint64_t member);
  // Its link broke, or is whole again; `link` counts that (ShardMap).
  void OnServerLink(uint64_t member, uint64_t link, bool connected);
  // It is about to go, or to be emptied; or that is taken back.
  void OnServerLeaving(uint64_t member, bool leaving);

  void Cancel(const absl::Status& reason);  // Soon. The first reason wins.
  // It goes on from a journal that lacks what has happened last, and so counts
  // samples again. It ends soon, as one that could not be saved, and another
  // life of the coordinator does not go on with it.
  void LoseEnd();
  // Ends it soon: what is in flight counts, and a checkpoint is written if it
  // has trained. Snapshots that wait then are evaluated for so long at most.
  void Pause(absl::Duration evaluate_for);
  absl::Status Resume();  // FAILED_PRECONDITION once it has ended.
  // Takes what is mutable of a job's spec (types.proto) over from the plan: at
  // once, if the job trains.
  void Update(const JobPlan& plan);
  // The errors of the input SwitchRun (run_messages.h).
  absl::Status Switch(const ParadigmSpec& paradigm, absl::string_view reason,
                      std::optional<Batching> batching = std::nullopt,
                      bool with_closing = false);
  // As the input WriteCheckpoint; the observer hears of it.
  absl::Status WriteCheckpoint(const std::string& id,
                               const std::string& folder = "");

  // The id of the checkpoint that is being written; empty: there is none.
  std::string WritingCheckpoint() const;
  v1::JobProgress Progress() const;
  // Everything measured so far, as JSON text; empty before the training.
  std::string Report() const;
  // Of training, in the runs that this one goes on from.
  double SecondsBefore() const;
  // What the worker of that name has brought about so far, samples counted, or
  // evaluators have, evaluations, be they of others. Only ever grows.
  int64_t DoneBy(const std::string& name, bool evaluator) const;
  bool WantsEvaluator() const;  // Snapshots wait for one.
  bool Loading() const;         // The training has not begun.
  // Nothing more is counted; what there is is being saved, or is saved.
  bool TrainingEnds() const;
  // Trainers have nothing to do any more, whether or not it could be saved.
  bool TrainingOver() const;
  // For whoever chooses its paradigm; nothing unless it trains.
  std::optional<TrainingPaces> Paces() const;
  // What was made of that: for Progress(), and for the log if `news`. False,
  // and nothing is done with it: the job is not under `present` any more.
  bool Advise(const BatchedParadigm& present, v1::Advice advice, bool news);
  // That, whole, while the job stays under what it was given for; Progress()
  // has it without its options.
  std::optional<v1::Advice> Advice() const;
  void GiveUp() { given_up_ = true; }  // Nobody waits for that any more.
  uint64_t run() const { return setup_.run; }
  RunLog& log() { return log_; }
  // The job's, as the run has it: with what was updated and chosen.
  v1::JobSpec Spec() const;
  // Nothing more is recorded, and the next life of the coordinator is to go on
  // with the run, whatever becomes of it in this one.
  void Leave();
  const std::string& job_name() const { return setup_.job_name; }
  v1::WireFormat wire() const { return setup_.plan.spec.wire(); }

 private:
  // What an event cannot hold.
  struct Links {
    std::shared_ptr<const RunSession> session;
    const ServerLink* server;  // Or null.
  };

  JobRun(RunSetup setup, absl::Time began, const Clock* clock,
         std::shared_ptr<RunObserver> observer,
         std::shared_ptr<JobMetrics> metrics);

  // Each event, when it happens and when it is replayed.
  absl::Status Take(journal::RunEvent event,
                    const Links& links = {nullptr, nullptr});
  void Accept(const journal::RunEvent& event, const Links& links)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What a worker says of its iterations.
  void AcceptReport(WorkerId worker, const v1::WorkerMessage& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordEvent(absl::Time now, journal::RunEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LoseServer(int server, absl::string_view why);
  std::optional<int> FindServer(uint64_t member) const;
  // Of a run that goes on: those that have not come back yet.
  std::vector<int> AwaitedServers() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // To the servers, as the paradigm has changed.
  void TellRuleBytes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The number of events.
  absl::StatusOr<int64_t> Replay(RunJournalReader& reader);
  // Whether the run may go on after that.
  absl::Status CheckReplayed(int idle_lives);
  void GoOn(const std::shared_ptr<JobRun>& self);
  // Gives the workers that are there their sessions back; which.
  std::vector<WorkerId> RestoreWorkers(const std::shared_ptr<JobRun>& self);
  void OnDeadline() override;

  void Perform(absl::Time now, absl::Span<const RunOutput> outputs) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is to be done about an output: one specialization for each kind.
  template <class Value>
  void On(const Value& output) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Of a shard, to one of the servers that have it.
  void SendToServer(int server, int shard, v1::ServerCommand command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FillIn(v1::HostJob& host, int shard) ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void SendToWorker(WorkerId worker, v1::WorkerCommand command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellDecision(absl::Time at, std::string whom, std::string kind,
                    std::string text, bool costs_work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::JobProgress ProgressAt(absl::Time now) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  v1::JobSpec PresentSpec() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // The paradigm of now, or the one that takes over with the next closing.
  BatchedParadigm Present() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  const v1::Advice* PresentAdvice() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  // On the run's own thread.
  void OpenFiles();
  void TellCheckpoint(const CheckpointChanged& changed);
  void TellEnd(RunOutcome outcome);

  const RunSetup setup_;
  const absl::Time began_;  // By the run's clock.
  const std::shared_ptr<RunObserver> observer_;
  const std::shared_ptr<JobMetrics> metrics_;
  std::atomic<uint32_t> next_worker_ = 1;
  std::atomic<bool> given_up_ = false;
  std::atomic<bool> lost_end_ = false;

  absl::Time now_ ABSL_GUARDED_BY(mu_);    // Of the step that is performed.
  v1::JobSpec spec_ ABSL_GUARDED_BY(mu_);  // With what was updated.
  std::map<WorkerId, LinkedMember> members_ ABSL_GUARDED_BY(mu_);
  // While it is replayed.
  std::map<WorkerId, ReplayedSession> sessions_ ABSL_GUARDED_BY(mu_);
  RunServers servers_ ABSL_GUARDED_BY(mu_);
  ShardSeries shard_series_ ABSL_GUARDED_BY(mu_);
  Rng incarnations_ ABSL_GUARDED_BY(mu_);
  RunRecord record_ ABSL_GUARDED_BY(mu_);
  PaceHistory paces_ ABSL_GUARDED_BY(mu_);
  v1::Advice advice_ ABSL_GUARDED_BY(mu_);
  std::string advised_under_ ABSL_GUARDED_BY(mu_);  // Or nothing was advised.
  bool switching_ ABSL_GUARDED_BY(mu_) = false;     // With a closing.
  DecisionFilter filter_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Time> last_close_ ABSL_GUARDED_BY(mu_);
  std::optional<RunOutcome> end_ ABSL_GUARDED_BY(mu_);  // The course has it.
  std::optional<RunOutcome> outcome_ ABSL_GUARDED_BY(mu_);
  RunLog log_;
  std::unique_ptr<TraceWriter> trace_;  // Of the run's own thread.
  DiskQuestions disk_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOB_RUN_H_
