#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/coordinator/run/course/evaluation_queue.h"
#include "services/coordinator/run/course/loss_watch.h"
#include "services/coordinator/run/course/run_checkpoints.h"
#include "services/coordinator/run/course/run_members.h"
#include "services/coordinator/run/course/run_messages.h"
#include "services/coordinator/run/course/server_commands.h"
#include "services/coordinator/sync/core/placement.h"
#include "services/coordinator/sync/core/sync_core.h"

namespace paceline {

// The stages of a run, in order. Several are passed within one call where
// nothing has to be waited for.
enum class RunStage {
  kOpening,       // Its files are opened.
  kAssembling,    // Members load and build.
  kAdmitting,     // The model is known: may it have so many parameters?
  kHosting,       // The servers take its blocks.
  kInitializing,  // A worker writes the starting weights.
  kTraining,
  kSettling,    // Everything is counted; the servers apply the last update.
  kSaving,      // As often as it takes.
  kEvaluating,  // What is left of it.
  kEnded,
};

// One run of a job from its start, or from a checkpoint, until it ends or is
// paused: who takes part, on whose servers, from which weights; the training,
// which the sync core within it decides about; evaluations, checkpoints, losses
// of members and servers; the end. It does nothing but append to `outputs`; who
// performs them contains no rule.
//
// Pure and deterministic: the same inputs at the same times give the same
// outputs. `now` never decreases. Thread-compatible.
class RunCourse {
 public:
  RunCourse(const CourseOptions& options, const RunSettings& settings,
            absl::Time now);

  // The errors are those of the input (run_messages.h); nothing changes then.
  // Once the run has ended, inputs come to nothing.
  absl::Status Step(absl::Time now, const RunInput& input,
                    std::vector<RunOutput>& outputs);
  // When TimePassed is to be the input, if no other is before.
  absl::Time NextDeadline() const;

  RunStage stage() const { return stage_; }
  // Null before the training.
  const SyncCore* core() const { return core_.get(); }
  const RunMembers& members() const { return members_; }
  // That of all workers, from kAdmitting on, and where its blocks lie.
  const WorkerModel& model() const { return model_; }
  const std::vector<BlockPlacement>& blocks() const { return blocks_; }
  const RunSettings& settings() const { return settings_; }
  const EvaluationQueue& evaluations() const { return evaluations_; }
  // What was trained could not be saved so far, or takes long to be.
  bool saving_delayed() const {
    return stage_ == RunStage::kSaving && checkpoints_.delayed();
  }
  // In force, with all its parameters.
  std::string paradigm() const;
  // Seconds of training, those before the run included; 0 before it.
  double SecondsAt(absl::Time now) const;

 private:
  // One call from outside: its time, and where its consequences go.
  struct Turn {
    absl::Time now;
    std::vector<RunOutput>& outputs;
  };

  // What an input does: one specialization for each, in course_inputs.cc.
  template <class Input>
  absl::Status On(const Turn& turn, const Input& in);
  absl::Status MemberFits(const Turn& turn, const MemberReady& ready);
  void Begin(const Turn& turn, WorkerId worker, bool initialize);
  void Lose(const Turn& turn, WorkerId worker, LossReason reason);
  void LetGo(const Turn& turn, WorkerId worker, const absl::Status& status);
  void TellUnfit(const Turn& turn, WorkerId worker, const absl::Status& why);

  // The stages (course.cc). Those that return a bool do what can be done now;
  // true: the stage is passed.
  bool Proceed(const Turn& turn);
  bool Assemble(const Turn& turn);
  bool Initialize(const Turn& turn);
  bool Train(const Turn& turn);
  bool Save(const Turn& turn);
  void Enter(RunStage stage);
  // Enters it, for `limit` at most, in which `what` is waited for.
  void Await(const Turn& turn, RunStage stage, absl::Duration limit,
             const char* what);
  void Host(const Turn& turn);
  void StartTraining(const Turn& turn);
  void TrainOn(const Turn& turn);  // It was to pause, or out of workers.
  void BeginEvaluating(const Turn& turn);
  void End(const Turn& turn, absl::Status status);
  // Finds leases that have ended, evaluations and servers that hang.
  void LookAround(const Turn& turn);
  bool FellShort(const Turn& turn);
  // Tells people of a loss that does not fall, once, and of its falling.
  void WatchLoss(const Turn& turn, bool at_the_end);
  absl::Status LastFailure() const;
  // Hands on what the core has put into `core_outputs_`.
  void Absorb(const Turn& turn);
  template <class Value>
  void Pass(const Turn& turn, const Value& output);
  // Evaluations (course_evaluating.cc).
  void ChooseEvaluator(const Turn& turn);
  void GiveOutEvaluation(const Turn& turn);
  void DropEvaluation(const Turn& turn, int64_t snapshot, std::string who,
                      const absl::Status& why);
  void StopEvaluating(const Turn& turn, absl::string_view why);
  // Stops it if nothing can be hoped for any more.
  void JudgeEvaluation(const Turn& turn, const EvaluatorKnown& known);
  RunCheckpoints::Moment MomentOf(const Turn& turn);

  const CourseOptions options_;
  RunSettings settings_;
  ParadigmSpec paradigm_;  // With which the training begins.
  RunStart start_;
  RunStage stage_ = RunStage::kOpening;
  absl::Time stage_deadline_ = absl::InfiniteFuture();
  std::string too_late_;  // What is said then.
  absl::Time next_look_;
  RunMembers members_;
  std::vector<WorkerId> to_forget_;  // At the next step.
  ServerCommands commands_;
  uint64_t awaited_command_ = 0;  // By kHosting and kSettling.
  WorkerModel model_;
  std::string model_of_;  // The worker's name that the model is from.
  std::vector<BlockPlacement> blocks_;
  WorkerId writer_{0};  // Of the starting weights.
  std::unique_ptr<SyncCore> core_;
  std::vector<Output> core_outputs_;
  absl::Time began_;
  LossWatch losses_;
  std::string warning_;
  absl::Status diverged_;                      // Why it is hopeless to go on.
  absl::Time ended_ = absl::InfiniteFuture();  // The training.
  bool sealed_ = false;
  bool out_of_time_ = false;  // Sealed by the limit of seconds.
  std::optional<MetricTarget> target_reached_;
  EvaluationQueue evaluations_;
  absl::Time worth_waiting_;  // When an evaluator could be hoped for.
  RunCheckpoints checkpoints_;
  absl::Status failure_;
  absl::Status unfit_;         // Why the first trainer could not take part.
  std::string unfit_name_;     // Its name.
  std::string last_words_;     // Of a trainer that went, if it said why.
  absl::Status last_failure_;  // Of the trainer that went last, if it failed.
  absl::Time short_since_ = absl::InfiniteFuture();
  absl::Time somebody_seen_;
  std::optional<PauseRun> pausing_;
  std::set<int> leaving_servers_;
  RunOutcome outcome_;  // What is known of it; it says more of `failure_`.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_H_
