#ifndef PACELINE_SERVICES_CLI_CLUSTER_H_
#define PACELINE_SERVICES_CLI_CLUSTER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/process/child_process.h"
#include "services/cli/local_options.h"

namespace paceline {

// The processes of one run, and how each is started. `bin_dir` holds the
// programs; `coordinator` is the address it listens at.
using CommandLine = std::vector<std::string>;

inline constexpr absl::string_view kCoordinatorProgram = "paceline-coordinator";
inline constexpr absl::string_view kServerProgram = "paceline-server";
inline constexpr absl::string_view kWorkerProgram = "paceline-worker";

// Everything that it keeps is in `folder`: jobs.db, checkpoints, record.
CommandLine CoordinatorCommand(absl::string_view bin_dir,
                               absl::string_view folder,
                               const LocalOptions& options);

// Server `index`, called "s<index>".
CommandLine ServerCommand(absl::string_view bin_dir,
                          absl::string_view coordinator, int index);

// Worker `index` of `options`, called "w<index>". With a program it computes
// nothing by itself and starts that, whose output goes to its ProgramLog().
CommandLine WorkerCommand(absl::string_view bin_dir, absl::string_view folder,
                          absl::string_view coordinator,
                          const LocalOptions& options, int index);

// The evaluator, called "eval". Of low priority when it evaluates in the middle
// of the training, beside the workers.
CommandLine EvaluatorCommand(absl::string_view bin_dir,
                             absl::string_view folder,
                             absl::string_view coordinator,
                             const LocalOptions& options);

// What a program on `device` needs beside what this process has; nothing
// without a program.
Environment EnvironmentOf(const LocalOptions& options,
                          absl::string_view bin_dir, const std::string& device);

// The address in the line that a coordinator prints once it can be reached;
// nothing for any other line.
std::optional<std::string> ListeningAddress(absl::string_view line);

// The processes of one run. Whatever still runs when it is destroyed is killed.
// Thread-compatible; belongs on the main thread (child_process.h).
class Cluster {
 public:
  enum class Role { kCoordinator, kServer, kWorker, kEvaluator };

  struct Member {
    Role role;
    ChildProcess process;
  };

  // How a member ended.
  struct Ended {
    Role role;
    std::string name;
    std::string log_path;
    ExitCause cause;
  };

  // The programs lie in `bin_dir`; logs go to `folder`, NAME.log each.
  // `options` must live as long as this.
  Cluster(const LocalOptions& options, std::string bin_dir, std::string folder)
      : options_(options),
        bin_dir_(std::move(bin_dir)),
        folder_(std::move(folder)) {}

  // FAILED_PRECONDITION if a program is missing, whose name it tells.
  static absl::Status CheckPrograms(const std::string& bin_dir);

  // Codes of both: those of ChildProcess::Start().
  absl::Status StartCoordinator();
  // Everything else, once the coordinator listens at `address`; then leaves
  // processes.json, {"w0": pid, ...}, in the folder.
  absl::Status StartMembers(absl::string_view address);

  // Where the coordinator's standard output can be read; does not block.
  // REQUIRES: StartCoordinator() succeeded.
  int report_fd() const { return members_.front().process.stdout_fd(); }

  // Those that have ended since the last call.
  std::vector<Ended> Poll();

  // Those that run.
  std::vector<std::string> Running() const;

  // To all that run.
  void Signal(int signal) const;

 private:
  absl::Status Start(Role role, std::string name, CommandLine command,
                     Environment environment = {});
  absl::Status WriteProcesses() const;

  const LocalOptions& options_;
  std::string bin_dir_;
  std::string folder_;
  std::vector<Member> members_;  // The coordinator first.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_CLUSTER_H_
