#ifndef PACELINE_TESTS_SERVICES_CLI_FAKE_PROGRAMS_H_
#define PACELINE_TESTS_SERVICES_CLI_FAKE_PROGRAMS_H_

#include <sys/types.h>

#include <map>
#include <string>

#include "tests/common/test_folder.h"

namespace paceline {

// Stands in for paceline's programs: shell scripts in a temporary folder. At
// first every one of them sleeps until it is ended. The coordinator is called
// as usual, so that $2 is its store and "${2%/*}" the folder of its run.
class FakePrograms {
 public:
  FakePrograms();

  // Each takes the lines of a shell script.
  void Coordinator(const std::string& script);
  void Server(const std::string& script);
  void Worker(const std::string& script);  // Also of the evaluator.

  const std::string& bin_dir() const { return folder_.path(); }
  std::string run_dir() const { return folder_.Path("runs"); }

  // The pids that a run left in processes.json; empty if there is none.
  std::map<std::string, pid_t> Pids(const std::string& run) const;

  // Whether none of a run's processes exists any more.
  bool AllGone(const std::string& run) const;

  // What a file in a run's folder says.
  std::string File(const std::string& run, const std::string& name) const;

 private:
  void Write(const std::string& name, const std::string& script);

  const TestFolder folder_;
};

// Lines of a coordinator's script, in the order in which a run needs them. It
// listens at the path of the file in which it tells what happens to its job,
// one line each (run_local_test.cc reads it).
inline constexpr char kListening[] =
    ": > \"${2%/*}/news\"\n"
    R"(echo "{\"event\":\"listening\",\"address\":\"${2%/*}/news\"}")"
    "\n";
// `line` is "event" and a WatchJobResponse as JSON, "report" and a document, or
// "failed", a code and a message.
inline std::string Tell(const std::string& line) {
  return "echo '" + line + "' >> \"${2%/*}/news\"\n";
}
inline const std::string kStarted =
    Tell(R"(event {"job":{"state":"RUNNING","progress":)"
         R"({"parameters":10,"train_samples":64}}})");
inline const std::string kResult =
    Tell(R"(report {"paradigm":"bsp","seconds":2})");
// Waits until the members have been started.
inline constexpr char kAwaitMembers[] =
    "until [ -e \"${2%/*}/processes.json\" ]; do sleep 0.01; done\n";
inline constexpr char kSleep[] = "exec sleep 1000\n";

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_CLI_FAKE_PROGRAMS_H_
