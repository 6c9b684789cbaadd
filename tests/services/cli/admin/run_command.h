#ifndef PACELINE_TESTS_SERVICES_CLI_ADMIN_RUN_COMMAND_H_
#define PACELINE_TESTS_SERVICES_CLI_ADMIN_RUN_COMMAND_H_

#include <cerrno>
#include <climits>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "services/cli/admin/interruption.h"
#include "services/cli/admin/session.h"

namespace paceline {

// The commands of services/cli/admin in this process, as `paceline` runs them,
// but for the world around them.
class CommandRunner {
 public:
  CommandRunner();

  struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
  };

  // `line` is split at blanks; what has blanks itself comes in `further`.
  Outcome Run(const std::string& line,
              const std::vector<std::string>& further = {});

  // Of the next runs.
  std::map<std::string, std::string> environment;
  std::string input;                  // Standard input.
  std::optional<std::string> answer;  // Somebody is asked, and says this.
  bool terminal = false;              // Standard output is one.
  bool color = false;                 // That has colours.
  int writes_max = INT_MAX;  // So many, and standard output takes no more.
  int write_error = EPIPE;   // Why.
  absl::Time now;
  // Adds commands of other folders.
  std::function<void(CLI::App&, ChosenCommand&)> add_more;

  // Interrupts the command that runs, from any thread.
  void Interrupt(int signal);

 private:
  std::shared_ptr<Interruption> interruption() const;

  mutable absl::Mutex mu_;
  std::shared_ptr<Interruption> interruption_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_CLI_ADMIN_RUN_COMMAND_H_
