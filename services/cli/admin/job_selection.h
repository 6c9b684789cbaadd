#ifndef PACELINE_SERVICES_CLI_ADMIN_JOB_SELECTION_H_
#define PACELINE_SERVICES_CLI_ADMIN_JOB_SELECTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Which jobs a list shows, as a filter of ListJobs: `filter`, and of those jobs
// the ones in that state ("running", in any case) with those labels. Labels
// are as kubectl has them: "team=vision,tier!=test,urgent", without its sets.
// What is empty excludes nothing. INVALID_ARGUMENT for other labels.
absl::StatusOr<std::string> SelectJobs(absl::string_view filter,
                                       absl::string_view state,
                                       absl::string_view labels);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_JOB_SELECTION_H_
