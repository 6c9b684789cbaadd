#include "common/process/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

// Everything the child needs between fork and exec, prepared by the parent,
// because the child may only make async-signal-safe calls.
struct ExecPlan {
  char* const* argv = nullptr;  // argv[0] is the path of the program.
  char* const* envp = nullptr;
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int error_fd = -1;  // Receives errno, an int, if the child fails; CLOEXEC.
};

// A mask and an ignored signal survive exec, so undo what this process did for
// itself.
bool ResetSignals() {
  for (int signal : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP}) {
    if (::signal(signal, SIG_DFL) == SIG_ERR) return false;
  }
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

// dup2 clears CLOEXEC on the copy, unless both are the same.
bool Redirect(int from, int to) { return from == to || dup2(from, to) == to; }

bool PrepareChild(const ExecPlan& plan, pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  // The parent may have died before the request was made.
  if (getppid() != parent) _exit(1);
  return setpgid(0, 0) == 0 && ResetSignals() &&
         Redirect(plan.stdin_fd, STDIN_FILENO) &&
         Redirect(plan.stdout_fd, STDOUT_FILENO) &&
         Redirect(plan.stderr_fd, STDERR_FILENO);
}

// Forks and, in the child, executes the program as a process group of its own
// with default signals, to be killed by the kernel when the calling thread
// dies. Returns the child's pid, or -1 with errno.
pid_t ForkExec(const ExecPlan& plan) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (PrepareChild(plan, parent)) {
    execve(plan.argv[0], plan.argv, plan.envp);
  }
  const int error = errno;
  // Whether the parent can still read it makes no difference here.
  [[maybe_unused]] const ssize_t n =
      write(plan.error_fd, &error, sizeof(error));
  _exit(127);
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

absl::Status ErrnoError(absl::string_view doing) {
  return absl::InternalError(absl::StrCat(doing, ": ", strerror(errno)));
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoError("make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// One whose reading end does not block, if something is to be captured.
absl::StatusOr<Pipe> MakeCapture(bool wanted) {
  if (!wanted) return Pipe();
  PACELINE_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd file(open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoError(absl::StrCat("open ", path));
  return file;
}

// As exec(3) wants them; `texts` outlive them.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// "NAME=VALUE" of all that this process has, but for those in `replaced`.
std::vector<std::string> Variables(
    const std::map<std::string, std::string>& replaced) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!replaced.contains(text.substr(0, text.find('=')))) {
      variables.push_back(text);
    }
  }
  for (const auto& [name, value] : replaced) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  return variables;
}

// The errno with which the child could not execute its program; 0 once the
// exec has closed the other end.
int AwaitExec(int fd) {
  int error = 0;
  ssize_t n = 0;
  do {
    n = read(fd, &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof(error)) ? error : 0;
}

}  // namespace

std::string ExitCause::Describe() const {
  if (signal == 0) return absl::StrCat("exit code ", exit_code);
  return absl::StrCat("killed by signal ", signal, " (", strsignal(signal),
                      ")");
}

absl::StatusOr<ChildProcess> ChildProcess::Start(const ChildSpec& spec) {
  PACELINE_ASSIGN_OR_RETURN(const UniqueFd null,
                            OpenFile("/dev/null", O_RDONLY));
  UniqueFd log;
  if (!spec.log_path.empty()) {
    const int flags = O_WRONLY | O_CREAT | O_APPEND;
    PACELINE_ASSIGN_OR_RETURN(
        log, OpenFile(spec.log_path, flags | (spec.keep_log ? 0 : O_TRUNC)));
  }
  PACELINE_ASSIGN_OR_RETURN(Pipe error, MakePipe());
  PACELINE_ASSIGN_OR_RETURN(Pipe output, MakeCapture(spec.capture_stdout));
  PACELINE_ASSIGN_OR_RETURN(Pipe complaints, MakeCapture(spec.capture_stderr));
  const auto place = [&log](const Pipe& capture, int own) {
    if (capture.write_end.valid()) return capture.write_end.get();
    return log.valid() ? log.get() : own;
  };
  const std::vector<char*> argv = Pointers(spec.argv);
  const std::vector<std::string> variables = Variables(spec.environment);
  const std::vector<char*> envp = Pointers(variables);

  const pid_t pid = ForkExec({.argv = argv.data(),
                              .envp = envp.data(),
                              .stdin_fd = null.get(),
                              .stdout_fd = place(output, STDOUT_FILENO),
                              .stderr_fd = place(complaints, STDERR_FILENO),
                              .error_fd = error.write_end.get()});
  if (pid < 0) return ErrnoError(absl::StrCat("start ", spec.name));
  // From here on its destructor ends it.
  ChildProcess child(spec, pid, std::move(output.read_end),
                     std::move(complaints.read_end));
  error.write_end.Reset();
  if (const int failed = AwaitExec(error.read_end.get()); failed != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot execute ", spec.argv[0], ": ", strerror(failed)));
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)),
      log_path_(std::move(other.log_path_)),
      pid_(std::exchange(other.pid_, -1)),
      running_(std::exchange(other.running_, false)),
      stdout_(std::move(other.stdout_)),
      stderr_(std::move(other.stderr_)),
      cause_(other.cause_) {}

ChildProcess::~ChildProcess() {
  if (!running_) return;
  Signal(SIGKILL);
  Reap(0);
}

void ChildProcess::Signal(int signal) const {
  if (running_) kill(-pid_, signal);
}

std::optional<ExitCause> ChildProcess::Poll() { return Reap(WNOHANG); }

std::optional<ExitCause> ChildProcess::Reap(int options) {
  if (!running_) return std::nullopt;
  siginfo_t info{};
  // Left as a zombie at first: while it is one, its group's number cannot go
  // to a stranger, and the group can be killed safely.
  while (waitid(P_PID, static_cast<id_t>(pid_), &info,
                WEXITED | WNOWAIT | options) != 0) {
    if (errno == EINTR) continue;
    running_ = false;  // Somebody else reaped it; nothing is left to end.
    return cause_;
  }
  if (info.si_pid == 0) return std::nullopt;
  kill(-pid_, SIGKILL);
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 &&
         errno == EINTR) {
  }
  running_ = false;
  if (info.si_code == CLD_EXITED) {
    cause_.exit_code = info.si_status;
  } else {
    cause_.signal = info.si_status;
  }
  return cause_;
}

}  // namespace paceline
