#ifndef PACELINE_SERVICES_CLI_UI_FINISHED_RUNS_H_
#define PACELINE_SERVICES_CLI_UI_FINISHED_RUNS_H_

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "services/cli/json_fields.h"

namespace paceline {

// What runs of `paceline local` have left in their folder: "result.json" and
// "job.json" of each. Thread-safe.
class FinishedRuns {
 public:
  // `folder` is the --run-dir of one command, or what holds several of those.
  explicit FinishedRuns(std::string folder) : folder_(std::move(folder)) {}

  // {"runs": [{"name", "paradigm", "seconds", "samples", "accuracy",
  // "workers"}, ...]}, by name; at most 500, the last ones. Those that have not
  // ended, and whatever is no result, are left out.
  Json List();

  // {"report", "spec"} of the run of that name: what `paceline local -o json`
  // has in "runs", and the JobSpec. NOT_FOUND for a name that List() has not.
  absl::StatusOr<Json> Get(absl::string_view name);

 private:
  struct Summary {
    std::filesystem::file_time_type written;
    Json fields;
  };

  const std::string folder_;
  absl::Mutex mu_;
  // By name: what was read once is not read again.
  std::map<std::string, Summary, std::less<>> seen_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_UI_FINISHED_RUNS_H_
