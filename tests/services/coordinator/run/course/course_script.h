#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_COURSE_SCRIPT_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_COURSE_SCRIPT_H_

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/coordinator/run/course/course.h"
#include "tests/services/coordinator/run/course/run_checker.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {

// Runs commands on a RunCourse, and a RunChecker on what it puts out. Members
// do what a command says and nothing else; servers s0, s1, ... answer at once.
// One command a line:
//
//   run PARADIGM [KEY=VALUE]... [defer] [root] [fallback] [quota] [replicates]
//                          makes the course anew, at time 0: 40 samples, ten to
//                          a push, no evaluation, a lease of 10s. Keys: min (of
//                          workers; 2), servers (2), eval (samples from one
//                          snapshot to the next), lease, from (samples of the
//                          first epoch that a checkpoint has), and those of
//                          `update`. With `root` checkpoints can be written,
//                          with `fallback` in another folder too; with `quota`
//                          the model is too large; with `replicates` servers
//                          can have backups and be them (replicas=1), and begin
//                          anew what was lost
//   opened [CODE]          its files are opened, or cannot be
//   come w1 e2 ...         workers and evaluators come
//   ready w1 ... [samples=40] [elements=40]
//                          with data and a first tensor of that size
//   enter w1 ...           both
//   initialized w1         the weights are written
//   train w1 ... [e2]      opened, enter, initialized by w1; only the grants
//                          are told
//   push w1 ... [discarded] [loss=0.5]
//                          the open iterations, all of their samples used; or
//                          nothing, for a loss that is not finite
//   work w1 ... [discarded] [loss=0.5] [pushes=N]
//                          pushes in turns until nobody has a grant, or so
//                          often; what comes of the pushes themselves is left
//                          out
//   gone w1 stream|departed
//   failed w1 CODE         it cannot take part
//   evaluated e2 SNAPSHOT [accuracy=0.5] [loss=0.5] [failed], or with
//                          perplexity=20 alone
//   server s0 sound|hangs|slow|full|refuses
//                          from now on it carries out all; nothing; writes no
//                          file until it is sound; cannot write below
//                          /checkpoints; takes no snapshot
//   server s0 leaving|lost|comes
//                          one that comes is a new one
//   workers silent|sound   from now on they fill no shard; or they do
//   coordinator slow|sound from now on it writes no manifest and removes
//                          nothing until it is sound
//   evaluators none|some|unfit
//                          whether one is connected anywhere, or one that has
//                          said that it cannot
//   wait 10s [w1 ...]      so much time passes, in which these are heard of
//   update [KEY=VALUE]...  min, epochs, samples, seconds, accuracy, loss,
//                          at_target, rate, interval (of checkpoints)
//   switch PARADIGM, checkpoint ID [FOLDER], pause DURATION, resume, cancel
//
// Lines that begin with '#' are comments. Thread-compatible.
class CourseScript {
 public:
  // What came of it, one line for each output that says something, and for each
  // refusal; "nothing" if that is all. What the paradigm reports is left out. A
  // malformed command, and whatever always must hold and does not, is answered
  // by a line that begins with "error:".
  std::string Run(absl::string_view commands);

 private:
  enum class Health { kSound, kHangs, kSlowDisk, kFullDisk, kNoRoom, kGone };
  struct Server {
    Health health = Health::kSound;
    std::optional<WriteBlocks> unwritten = std::nullopt;
  };

  // Of one command; a malformed one is INVALID_ARGUMENT.
  absl::Status Execute(Words words);
  absl::Status MakeRun(Words words);
  absl::Status Order(absl::string_view verb, const Words& words);
  absl::Status Say(absl::string_view verb, WorkerId worker, Words words);
  absl::Status SayEvaluated(WorkerId worker, Words words);
  absl::Status SetServer(const Words& words);
  absl::Status AddServer(absl::string_view name);
  absl::Status Set(Words words);
  absl::Status Wait(const Words& words, const std::vector<WorkerId>& heard);
  void Work(const std::vector<WorkerId>& members, Words words);
  void Write(int server, const WriteBlocks& write);

  // Gives the input, and then what servers and others answer to it. Returns OK.
  absl::Status Give(const RunInput& input);
  // Takes the names out of `words`.
  std::vector<WorkerId> TakeMembers(Words& words);
  std::string Name(WorkerId worker) const;
  // Empty if it says nothing.
  std::string TextOf(const RunOutput& output) const;

  void Answer(const Grant& grant) { grants_[grant.worker] = grant; }
  void Answer(const AdmitParameters& admit);
  void Answer(const AskForEvaluator& ask);
  void Answer(const CompleteCheckpoint& complete);
  void Answer(const RemoveCheckpointFiles& remove);
  void Answer(const NumberedCommand& command);
  void Answer(const ResendCommands& resend);
  void Answer(const HostBackup& host);
  void Answer(const SetBackup& set);
  void Answer(const PromoteBackup& promote);
  void Answer(const HostRebuilt& rebuilt);
  void Answer(const FillFromCopy& fill);
  // As the shard's primary does it.
  void Perform(int shard, const NumberedCommand& command);
  bool Answers(int server) const {
    const Health health = servers_[static_cast<size_t>(server)].health;
    return health != Health::kHangs && health != Health::kGone;
  }
  template <class Other>
  void Answer(const Other&) {}

  CourseOptions options_;
  RunSettings settings_;
  RunStart start_;
  bool quota_ = false;
  EvaluatorKnown evaluator_ = {.exists = true};
  std::vector<Server> servers_;
  std::map<int, uint64_t> carried_out_;  // The last command of each shard.
  bool silent_workers_ = false;
  bool slow_coordinator_ = false;
  std::deque<RunInput> held_back_;  // What it says once it is sound.
  std::optional<RunCourse> course_;
  RunChecker checker_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<WorkerId, bool> evaluators_;  // Every member that was named.
  std::map<WorkerId, Grant> grants_;     // Open.
  std::deque<RunInput> answers_;
  bool assembling_ = false;  // By `train`.
  bool working_ = false;     // By `work`.
  std::string text_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_COURSE_SCRIPT_H_
