#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_PROCESS_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_PROCESS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/log/log_ring.h"
#include "common/process/child_process.h"
#include "common/unique_fd.h"
#include "services/worker/program/wake_up.h"

namespace paceline {

// The last lines of a text that comes in pieces, short enough for an error's
// message. Thread-compatible.
class LastLines {
 public:
  static constexpr size_t kLinesMax = 6;
  static constexpr size_t kLineBytesMax = 300;

  void Add(absl::string_view text);
  // From the oldest on, with " | " between them; empty lines are left out.
  std::string Text() const;

 private:
  void EndLine();

  std::deque<std::string> lines_;
  std::string line_;  // Has no end yet.
};

// "137 (killed: out of memory?)": the exit status as a shell tells it, with
// what it means to who has sent no signal.
std::string ExitText(const ExitCause& cause);

// The signal that has ended the process, or a process whose status a shell has
// handed on; 0: none has.
int SignalOf(const ExitCause& cause);

// What an agent starts.
struct ProgramCommand {
  std::string text;  // As `sh -c` takes it; empty: somebody else starts it.
  // A file that gets everything it writes, behind what is there; empty: that
  // goes where the agent's own output goes.
  std::string log = {};
  // Variables in place of those that it would inherit.
  std::map<std::string, std::string> environment = {};
  // Gets the lines that it writes to its standard error; null: nobody does.
  // Outlives the process.
  LogRing* lines = nullptr;
};

// A program that the agent runs itself, by `/bin/sh -c`. The end of what it
// writes to its standard error is remembered. Thread-compatible; belongs on the
// worker's thread, with which it dies.
class ProgramProcess {
 public:
  // `socket` is where it finds the agent. Errors of ChildProcess::Start.
  static absl::StatusOr<std::unique_ptr<ProgramProcess>> Start(
      const ProgramCommand& command, const std::string& socket);
  // Kills it, with its group, if it is still there.
  ~ProgramProcess();
  ProgramProcess(const ProgramProcess&) = delete;
  ProgramProcess& operator=(const ProgramProcess&) = delete;

  // Whether it has ended. What it started is killed then. Looks.
  bool Ended();
  // Waits for its end, so long at most; whether it came.
  bool AwaitEnd(absl::Duration patience);
  // Whether a signal has ended it; once it has ended.
  bool killed() const;
  // "exited with 1; last lines: ...", once it has ended.
  std::string Describe();

  // Lets it end by itself until `deadline`, then for `grace` after SIGTERM,
  // which one that is stopped takes as well, and kills it with its group.
  // `hurried` is asked ten times a second: at once, then. Whether it has ended
  // by itself.
  bool End(absl::Time deadline, absl::Duration grace,
           const std::function<bool()>& hurried);

 private:
  ProgramProcess(ChildProcess child, UniqueFd log, LogRing* lines);

  // Hands on what it writes to its standard error, up to its end or Stop().
  void ReadComplaints();
  void StopReading();

  ChildProcess child_;
  const UniqueFd log_;  // Not valid: there is none.
  std::optional<ExitCause> cause_;
  bool killed_here_ = false;  // End() has killed it.
  const WakeUp stop_;

  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  LastLines complaints_ ABSL_GUARDED_BY(mu_);
  RingLines lines_;  // The reader's.

  std::thread reader_;  // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_PROCESS_H_
