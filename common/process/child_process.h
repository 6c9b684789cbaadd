#ifndef PACELINE_COMMON_PROCESS_CHILD_PROCESS_H_
#define PACELINE_COMMON_PROCESS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace paceline {

// What to start. `argv[0]` is the path of the program.
struct ChildSpec {
  std::string name;  // The member's name: "w0".
  std::vector<std::string> argv;
  // Receives stderr and stdout, but for what is captured; empty: this process's
  // own do.
  std::string log_path;
  bool keep_log = false;  // It goes on behind what the log has.
  bool capture_stdout = false;
  bool capture_stderr = false;
  // Variables in place of those that it would inherit, or beside them.
  std::map<std::string, std::string> environment = {};
};

// How a process ended.
struct ExitCause {
  int exit_code = 0;  // Meaningful when signal is 0.
  int signal = 0;     // That killed it.

  bool clean() const { return exit_code == 0 && signal == 0; }
  // "exit code 1", "killed by signal 9 (Killed)".
  std::string Describe() const;
};

// One process that this one started and must end.
//
// It leads a process group of its own, so that a Ctrl-C on the terminal reaches
// only us and what it starts itself can be ended with it. The kernel kills it
// when the thread that started it dies, however that happens. Its standard
// input is /dev/null; signal mask and dispositions are the defaults.
//
// Thread-compatible; Start() and the destructor belong on the main thread.
// Descriptors 0 to 2 of this process must be open.
class ChildProcess {
 public:
  // Starts it. Returns once the program runs.
  //   FAILED_PRECONDITION: the program cannot be executed.
  //   INTERNAL: no pipe, log file or process could be made.
  static absl::StatusOr<ChildProcess> Start(const ChildSpec& spec);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills the group if it still runs, and waits for the process.
  ~ChildProcess();

  const std::string& name() const { return name_; }
  const std::string& log_path() const { return log_path_; }
  pid_t pid() const { return pid_; }
  bool running() const { return running_; }

  // The reading end of its standard output, which does not block; -1 unless
  // captured. Owned by this object.
  int stdout_fd() const { return stdout_.get(); }
  // The same of its standard error.
  int stderr_fd() const { return stderr_.get(); }

  // Sends `signal` to the whole group; nothing when it has ended.
  void Signal(int signal) const;

  // The cause if it has ended since the last call: each end is returned once.
  // What is left of its group is killed then. Does not block.
  std::optional<ExitCause> Poll();

 private:
  ChildProcess(const ChildSpec& spec, pid_t pid, UniqueFd stdout_end,
               UniqueFd stderr_end)
      : name_(spec.name),
        log_path_(spec.log_path),
        pid_(pid),
        running_(true),
        stdout_(std::move(stdout_end)),
        stderr_(std::move(stderr_end)) {}

  // Waits as `options` of waitid(2) say, and reaps.
  std::optional<ExitCause> Reap(int options);

  std::string name_;
  std::string log_path_;
  pid_t pid_ = -1;
  bool running_ = false;
  UniqueFd stdout_;
  UniqueFd stderr_;
  ExitCause cause_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_PROCESS_CHILD_PROCESS_H_
