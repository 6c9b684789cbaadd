#ifndef PACELINE_SERVICES_CLI_FORK_EXEC_H_
#define PACELINE_SERVICES_CLI_FORK_EXEC_H_

#include <sys/types.h>

namespace paceline {

// Everything the child needs between fork and exec, prepared by the parent,
// because the child may only make async-signal-safe calls.
struct ExecPlan {
  char* const* argv = nullptr;  // argv[0] is the path of the program.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int error_fd = -1;  // Receives errno, an int, if the child fails; CLOEXEC.
};

// Forks and, in the child, executes the program as a process group of its own
// with default signals, to be killed by the kernel when the calling thread
// dies. Returns the child's pid, or -1 with errno.
pid_t ForkExec(const ExecPlan& plan);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_FORK_EXEC_H_
