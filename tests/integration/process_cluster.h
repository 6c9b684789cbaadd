#ifndef PACELINE_TESTS_INTEGRATION_PROCESS_CLUSTER_H_
#define PACELINE_TESTS_INTEGRATION_PROCESS_CLUSTER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/process/child_process.h"
#include "tests/common/test_folder.h"

namespace paceline {

// The programs as an operator starts them: processes on loopback, with their
// files in a folder of their own. Killed when this dies. For the main thread.
class ProcessCluster {
 public:
  // Starts the coordinator, with these flags beside those of its files, and
  // waits until it listens. Its parameter servers and workers are the test's
  // to start.
  explicit ProcessCluster(const std::vector<std::string>& coordinator_flags);

  // paceline-server or paceline-worker, called `name`.
  void Start(absl::string_view program, const std::string& name,
             const std::vector<std::string>& flags);

  // Where the coordinator listens.
  const std::string& address() const { return address_; }
  std::string StorePath() const { return folder_.Path("jobs.db"); }
  std::string CheckpointPath() const { return folder_.Path("checkpoints"); }

 private:
  ChildProcess& StartProcess(absl::string_view program, const std::string& name,
                             const std::vector<std::string>& flags,
                             bool capture_stdout);

  // Before the processes, which write there until they are gone.
  const TestFolder folder_;
  std::vector<ChildProcess> processes_;
  std::string address_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_PROCESS_CLUSTER_H_
