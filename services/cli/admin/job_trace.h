#ifndef PACELINE_SERVICES_CLI_ADMIN_JOB_TRACE_H_
#define PACELINE_SERVICES_CLI_ADMIN_JOB_TRACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "services/cli/admin/session.h"

namespace paceline {

// The times of a job's latest iterations, as the coordinator keeps them.
struct JobTrace {
  std::string lines;  // As ReadTrace() (services/cli/trace_file.h) takes them.
  std::string note;   // How much of the job that is, for people.
};

// Asks the coordinator for the trace of `job`, a full name. FAILED_PRECONDITION
// where it knows no iteration of the job; the errors of Session::List().
absl::StatusOr<JobTrace> AskJobTrace(Session& session, const std::string& job);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_JOB_TRACE_H_
