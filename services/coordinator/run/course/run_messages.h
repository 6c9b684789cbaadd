#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_MESSAGES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/run/course/checkpoint_writing.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/coordinator/run/course/model.h"
#include "services/coordinator/run/course/noise_watch.h"
#include "services/coordinator/run/course/shard_map.h"
#include "services/coordinator/sync/core/decision.h"
#include "services/coordinator/sync/core/sync_messages.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// What a run's course takes in and gives out (course.h). All of them are
// values: a recorded sequence of inputs replays a run.

// How a run has ended.
struct RunOutcome {
  // OK: everything was counted, or it was paused. Otherwise why it failed, or
  // the reason with which it was cancelled.
  absl::Status status;
  // It ended before its time, and can be taken up again.
  bool paused = false;
  // Without being asked to pause: no worker was left.
  bool out_of_workers = false;
  // Before it trained: a server that it was to use has left.
  bool out_of_servers = false;
  // For people, of one that has gone well: what they should look at.
  std::string warning = {};
  // The same: why it needed less than all samples; empty: it needed them.
  std::string ended_early = {};
  // A server was told to stop, and has gone with what it held before that was
  // saved; `status` says so.
  bool left_unsaved = false;
  // It went on from a journal that lacks what has happened last.
  bool lost_end = false;
  // What was trained since the last checkpoint is gone with a server.
  bool weights_lost = false;
  // The checkpoint that it was to go on from could not be read.
  bool unrestored = false;
  // Its pushes were not finite any more.
  bool diverged = false;
  // The last checkpoint that it wrote, exact; empty: none.
  std::string checkpoint = {};
};

// Inputs.

// The files of the run have been read and opened; `status` says if not.
struct FilesOpened {
  absl::Status status;
  RunStart start;
};
// A worker or evaluator was assigned to the job. No other had its id.
// FAILED_PRECONDITION once the run has ended.
struct MemberCame {
  WorkerId worker;
  std::string name;
  uint64_t incarnation = 0;
  bool evaluator = false;
};
// Every other input of a member is a sign of life too.
struct MemberHeard {
  WorkerId worker;
  bool waits_for_servers = false;  // So that it is not stuck itself.
};
// FAILED_PRECONDITION if its model or its data do not fit those of the others.
struct MemberReady {
  WorkerId worker;
  WorkerModel model;
  SampleWishes wishes = {};
};
struct WeightsInitialized {
  WorkerId worker;
};
// The errors of these three are those of SyncCore; INVALID_ARGUMENT before the
// training. OUT_OF_RANGE: the worker was evicted because its pushes are not
// finite, and is not to be assigned to the job again.
struct WorkerPushed {
  WorkerId worker;
  PushReport report;
};
struct WorkerAsks {
  WorkerId worker;
  Iteration iteration = 0;
};
struct WorkerAbandoned {
  WorkerId worker;
  Iteration iteration = 0;
};
// FAILED_PRECONDITION if it was not asked to evaluate that snapshot.
struct MemberEvaluated {
  WorkerId worker;
  int64_t snapshot = 0;
  absl::Status status;  // Not OK: the snapshot could not be evaluated.
  // What was measured; AccuracyPoint says how.
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> loss = std::nullopt;
  std::map<std::string, double> metrics = {};
};
// `why` is what it said: with kFailed that it cannot take part, with
// kStreamBroken why it ends its stream. OK if it said nothing.
struct MemberGone {
  WorkerId worker;
  LossReason reason = LossReason::kStreamBroken;
  absl::Status why = {};
};
// The shard's primary, and its backup if it has one, know of everything up to
// `sequence`, and `status` is what came of the last of it.
struct CommandDone {
  int shard = 0;
  uint64_t sequence = 0;
  absl::Status status;
  std::optional<FenceAnswer> fence = std::nullopt;
  // Of a closing, if the server has measured it.
  std::optional<ClosedGradient> gradient = std::nullopt;
};
struct ServerWrote {
  int shard = 0;
  int64_t snapshot = 0;
  absl::Status status;
  WrittenShard file;
};
// A server could not carry out what it was told for the shard.
struct ShardFailed {
  int shard = 0;
  absl::Status why;
};
// Servers have numbers: first those of the options, then as they come.
struct ServerCame {
  RunServer server;
};
// It will not come back, or has lost what it held.
struct ServerLost {
  int server = 0;
  absl::Status why;
};
// It is about to go, or to be emptied; or that is taken back. If it goes before
// the training, nothing is lost.
struct ServerLeaves {
  int server = 0;
  bool leaving = true;
};
// Its link with the coordinator broke, or is whole again (ShardMap).
struct ServerLinkChanged {
  int server = 0;
  uint64_t link = 0;
  bool connected = false;
};
// Another life of the coordinator goes on with the run. Its servers are absent:
// each is expected back with what it has. So are these workers, who go on with
// their sessions; the other members are gone.
struct CoordinatorRestarted {
  std::set<WorkerId> awaited = {};
};
// A server that was absent is back under that name, and has those shards.
// FAILED_PRECONDITION: it lacks what only it had; it is lost.
struct ServerReturned {
  int server = 0;
  RunServer as;
  std::vector<HeldShard> held;
};
// What has become of the shard's backup, from that or from the primary.
struct BackupReported {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
  absl::Status status;
};
// The answer to PromoteBackup.
struct BackupPromoted {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
  uint64_t sequence = 0;  // The last command that it knows of.
};
// The answer to FillFromCopy: the server has the weights.
struct ShardFilled {
  WorkerId worker;
  int shard = 0;
  uint64_t epoch = 0;
  Version base_version = 0;  // Of the grant whose weights they are.
};
// The answer to AdmitParameters.
struct ParametersAdmitted {
  absl::Status status;
};
// The answer to AskForEvaluator.
struct EvaluatorKnown {
  // One is connected that could do it, be it in use elsewhere.
  bool exists = false;
  // If not, and those that are connected and have the job's model have said
  // that they cannot: what the first of them said, for people.
  std::string why_none = {};
};
// The answer to CompleteCheckpoint.
struct ManifestWritten {
  std::string id;  // Of the checkpoint.
  absl::Status status;
};
// The answer to RemoveCheckpointFiles, whatever came of it.
struct FilesRemoved {
  std::string directory;
};
// Ends the run at once. The first reason wins.
struct CancelRun {
  absl::Status reason;
};
// Ends the run soon, with what is in flight counted and a checkpoint written
// if the job had begun to train. Snapshots that wait then are evaluated for
// so long at most.
struct PauseRun {
  absl::Duration evaluate_for;
};
// Takes that back: a run that trains no more because of it trains on with what
// its servers hold. FAILED_PRECONDITION once the run has ended.
struct ResumeRun {};
struct UpdateRun {
  RunSettings settings;
};
// Another paradigm takes over; before the training the job begins with it.
// FAILED_PRECONDITION once everything is counted.
struct SwitchRun {
  ParadigmSpec paradigm;
  std::string reason;  // For people.
  // How batches are divided from then on; nothing: as before.
  std::optional<Batching> batching = std::nullopt;
  // As SyncCore::Switch() has it, and not at once.
  bool with_closing = false;
};
// FAILED_PRECONDITION: the job does not train, or no checkpoint can be written.
// UNAVAILABLE: one is being written. While what it has trained is being saved,
// this is one more attempt, and with a folder one in place of that in hand.
struct WriteCheckpoint {
  std::string id;
  // In which it gets a folder of its own; empty: as any other.
  std::string folder = {};
};
// NextDeadline() is reached.
struct TimePassed {};

using RunInput = std::variant<
    FilesOpened, MemberCame, MemberHeard, MemberReady, WeightsInitialized,
    WorkerPushed, WorkerAsks, WorkerAbandoned, MemberEvaluated, MemberGone,
    CommandDone, ServerWrote, ShardFailed, ServerCame, ServerLost, ServerLeaves,
    ServerLinkChanged, CoordinatorRestarted, ServerReturned, BackupReported,
    BackupPromoted, ShardFilled, ParametersAdmitted, EvaluatorKnown,
    ManifestWritten, FilesRemoved, CancelRun, PauseRun, ResumeRun, UpdateRun,
    SwitchRun, WriteCheckpoint, TimePassed>;

// Outputs, in the order in which they must be performed. The core's own pass
// through, but for those that a course turns into numbered commands.

// To a member.
struct AssignMember {
  WorkerId worker;
};
struct BeginWork {
  WorkerId worker;
  bool initialize = false;  // It writes the starting weights first.
};
struct EvaluateSnapshot {
  WorkerId worker;
  int64_t snapshot = 0;
  bool subset = false;  // A part of the test set is enough.
};
// It takes part no longer. OK: its stream stays, for another run.
struct MemberLetGo {
  WorkerId worker;
  absl::Status status;
};

// To every shard's primary: what HostBlocks to WriteBlocks say, under one
// number. While a shard's primary has not answered its promotion nothing is
// sent to it: it gets what it lacks with ResendCommands.
struct HostBlocks {};
struct FenceIncarnation {
  uint64_t incarnation = 0;
};
struct ReleaseSnapshot {
  int64_t snapshot = 0;
};
struct WriteBlocks {
  int64_t snapshot = 0;
  std::string directory;
};
struct NumberedCommand {
  uint64_t sequence = 0;
  std::variant<HostBlocks, CloseCommand, FenceIncarnation, SnapshotCommand,
               ReleaseSnapshot, WriteBlocks>
      command;
};
// To the shard's new primary, in this order. Some it may know.
struct ResendCommands {
  int shard = 0;
  std::vector<NumberedCommand> commands;
};

// Asked for; the answer is an input.
struct AdmitParameters {
  int64_t bytes = 0;
};
struct AskForEvaluator {};
struct CompleteCheckpoint {
  CheckpointWriting::Order order;
};
struct RemoveCheckpointFiles {
  std::string directory;
};

// A server is the primary of a shard that was lost, and begins it anew as if it
// had carried out all up to `sequence`. It reports once it has room and, where
// a checkpoint is named, what that has of it.
struct HostRebuilt {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
  uint64_t sequence = 0;
  Closing closing = 0;
  int64_t snapshot = 0;
  std::string restore_from = {};  // Its folder; empty: a worker fills it.
};
// The worker writes the weights there that it pulled last.
struct FillFromCopy {
  WorkerId worker;
  int shard = 0;
  int server = 0;
  uint64_t epoch = 0;
};

// To tell.
struct TrainingStarted {
  int64_t parameters = 0;
  uint32_t train_samples = 0;
  size_t workers = 0;
};
struct WorkerJoined {
  WorkerId worker;
};
struct ProgressDue {};
struct SnapshotEvaluated {
  AccuracyPoint point;
};
struct CheckpointChanged {
  enum class State { kWriting, kReady, kFailed };
  // With no resume point where it has failed before it was begun.
  CheckpointWriting::Order order;
  State state = State::kWriting;
  absl::Status failure;
  absl::Duration took;
  // One of that id has failed before, and was told of.
  bool again = false;
};
// What was trained cannot be saved for now, and stays with the servers.
struct SavingDelayed {
  absl::Status why;
  int tries = 0;  // So far.
  // Until the next one; zero: one is in hand, and takes long.
  absl::Duration next;
};
// After that: it is saved, or need not be, for the training goes on.
struct SavingSucceeded {};
// A decision about a member or, if `whom` is "job", the job.
struct Notice {
  std::string whom;
  const char* kind;  // Decision.kind of jobs.proto.
  std::string text;
  bool costs_work = true;  // A warning in the log.
};
// What people should look at while the job runs; empty: nothing any more.
struct Warning {
  std::string text;
};
// All samples are counted, or those of one that is to pause.
struct TrainingEnded {};
// After that, it goes on.
struct TrainingResumed {};
// The last output. Everybody who is still there is to be told to stop.
struct RunEnded {
  RunOutcome outcome;
};

using RunOutput = std::variant<
    Grant, PlanCommand, ExtendCommand, RefreshCommand, AbandonCommand,
    DropReserved, AnnounceCommand, PushCounted, Evicted, Switched,
    SwitchSettled, Recorded, AssignMember, BeginWork, EvaluateSnapshot,
    MemberLetGo, NumberedCommand, ResendCommands, HostBackup, SetBackup,
    PromoteBackup, DropShard, ShardMoved, HostRebuilt, FillFromCopy,
    AdmitParameters, AskForEvaluator, CompleteCheckpoint, RemoveCheckpointFiles,
    TrainingStarted, WorkerJoined, ProgressDue, Warning, SnapshotEvaluated,
    CheckpointChanged, SavingDelayed, SavingSucceeded, Notice, TrainingEnded,
    TrainingResumed, RunEnded>;

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_MESSAGES_H_
