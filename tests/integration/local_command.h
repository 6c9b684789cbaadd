#ifndef PACELINE_TESTS_INTEGRATION_LOCAL_COMMAND_H_
#define PACELINE_TESTS_INTEGRATION_LOCAL_COMMAND_H_

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/common/test_folder.h"

namespace paceline {

// A run of `paceline local` as a user starts it: a process, with its output
// captured. Killed, with all that it started, when this dies.
class LocalCommand {
 public:
  // `arguments` follow "local"; a fresh --run-dir is added.
  explicit LocalCommand(const std::vector<std::string>& arguments);
  ~LocalCommand();
  LocalCommand(const LocalCommand&) = delete;
  LocalCommand& operator=(const LocalCommand&) = delete;

  // Reads the progress on stderr up to a line that contains `text`; false if
  // stderr ends before.
  bool AwaitLine(const std::string& text);

  // The process that the current run calls `name`; 0 if there is none.
  pid_t PidOf(const std::string& name) const;
  // All processes of the current run.
  std::vector<pid_t> Pids() const;
  pid_t pid() const { return pid_; }

  // Reads everything to the end and returns the exit code, 128 + n for a
  // process killed by signal n.
  int Wait();

  // After Wait().
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  nlohmann::json document() const { return nlohmann::json::parse(out_); }

 private:
  nlohmann::json Processes() const;

  const TestFolder folder_;
  const std::string out_path_ = folder_.Path("stdout");
  pid_t pid_ = -1;
  int err_fd_ = -1;
  std::string out_;
  std::string err_;
  size_t err_read_ = 0;  // Up to where AwaitLine() has looked.
};

// Whether the process is gone, or waits only for its parent to notice.
bool Gone(pid_t pid);

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_LOCAL_COMMAND_H_
