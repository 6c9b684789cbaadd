#include "services/cli/fork_exec.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <initializer_list>

namespace paceline {
namespace {

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

}  // namespace

pid_t ForkExec(const ExecPlan& plan) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (PrepareChild(plan, parent)) execv(plan.argv[0], plan.argv);
  const int error = errno;
  // Whether the parent can still read it makes no difference here.
  [[maybe_unused]] const ssize_t n =
      write(plan.error_fd, &error, sizeof(error));
  _exit(127);
}

}  // namespace paceline
