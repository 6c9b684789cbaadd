#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/coordinator/run/course/evaluation_queue.h"
#include "services/coordinator/run/course/loss_watch.h"
#include "services/coordinator/run/course/noise_watch.h"
#include "services/coordinator/run/course/run_checkpoints.h"
#include "services/coordinator/run/course/run_members.h"
#include "services/coordinator/run/course/run_messages.h"
#include "services/coordinator/run/course/server_commands.h"
#include "services/coordinator/run/course/shard_map.h"
#include "services/coordinator/run/course/shard_sources.h"
#include "services/coordinator/run/course/trainer_troubles.h"
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

// One call from outside: its time, and where its consequences go.
struct CourseTurn {
  absl::Time now;
  std::vector<RunOutput>& outputs;
};

// When the training of a run began, and how it comes to its end.
struct TrainingEnd {
  absl::Time began;
  absl::Time ended = absl::InfiniteFuture();
  bool sealed = false;
  std::optional<PauseRun> pausing;
  bool out_of_time = false;  // Sealed by the limit of seconds.
  std::optional<MetricTarget> target_reached;
  absl::Status diverged;  // Why it is hopeless to go on.
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
  const SyncCore* core() const { return core_.get(); }  // Null: trains not yet.
  const RunMembers& members() const { return members_; }
  // That of all workers, from kAdmitting on, and where its blocks lie.
  const WorkerModel& model() const { return model_; }
  const std::vector<BlockPlacement>& blocks() const { return blocks_; }
  const ShardMap& shards() const { return shards_; }
  const RunSettings& settings() const { return settings_; }
  const EvaluationQueue& evaluations() const { return evaluations_; }
  const RunCheckpoints& checkpoints() const { return checkpoints_; }
  // What was trained could not be saved so far, or takes long to be.
  bool saving_delayed() const;
  // In force, with all its parameters; and what is, or takes over with the next
  // closing.
  std::string paradigm() const;
  std::string next_paradigm() const;
  // Nothing until it is measured in enough rounds.
  std::optional<GradientNoise> noise() const { return noise_.noise(); }
  // The same of one batch, as AdaScaleGain() has it.
  std::optional<double> noise_of_batch() const;
  // Seconds of training, those before the run included; 0 before it.
  double SecondsAt(absl::Time now) const;

 private:
  using Turn = CourseTurn;

  // What an input does: one specialization for each, in course_inputs.cc.
  template <class Input>
  absl::Status On(const Turn& turn, const Input& in);
  absl::Status MemberFits(const Turn& turn, const MemberReady& ready);
  void Begin(const Turn& turn, WorkerId worker, bool initialize);
  // Shards (course_shards.cc).
  // Hands on what the map of them has put into `shard_actions_`.
  void PerformShardActions(const Turn& turn);
  void GoOnElsewhere(const Turn& turn, int shard);  // On its new primary.
  void LoseShard(const Turn& turn, int server, const absl::Status& why);
  void Rebuild(const Turn& turn, const RebuildShard& order);
  void Fill(const Turn& turn, int shard);
  void LoseFiller(const Turn& turn, WorkerId worker);  // If it is one.
  void TellRebuilt(const Turn& turn, int shard, const std::string& source);
  // It goes on with its session, if it comes in time.
  void AwaitAnew(const Turn& turn, WorkerId worker);
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
  void Await(absl::Time now, RunStage stage, absl::Duration limit,
             absl::string_view what);
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
  void TellWarning(const Turn& turn);
  absl::Status LastFailure() const;  // For which nobody trains any more.
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
  absl::Time looked_;  // The last step.
  RunMembers members_;
  std::vector<WorkerId> to_forget_;  // At the next step.
  ServerCommands commands_;
  uint64_t awaited_command_ = 0;  // By kHosting and kSettling.
  WorkerModel model_;
  std::string model_of_;  // The worker's name that the model is from.
  std::vector<BlockPlacement> blocks_;
  std::optional<WorkerId> writer_;  // Of the starting weights.
  std::unique_ptr<SyncCore> core_;
  std::vector<Output> core_outputs_;
  LossWatch losses_;
  NoiseWatch noise_;
  std::string flat_loss_;     // What is said of it; empty: it falls.
  std::string lost_updates_;  // With the shard that was rebuilt last.
  bool restarted_ = false;    // The coordinator has, and nobody trains yet.
  TrainingEnd end_;
  EvaluationQueue evaluations_;
  absl::Time worth_waiting_;  // When an evaluator could be hoped for.
  RunCheckpoints checkpoints_;
  absl::Status failure_;
  TrainerTroubles troubles_;
  absl::Time short_since_ = absl::InfiniteFuture();
  absl::Time somebody_seen_;
  ShardMap shards_;
  ShardMap::Actions shard_actions_;
  ShardSources sources_;
  RunOutcome outcome_;  // What is known of it; it says more of `failure_`.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_H_
