#include "services/cli/admin/job_trace.h"

#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/resource_name.h"
#include "services/coordinator/run/trace_line.h"

namespace paceline {
namespace {

// How much of the job the lines are.
std::string TraceNote(const v1::ListIterationsResponse& listed, size_t lines,
                      const std::set<std::string>& workers) {
  const v1::Iteration& first = listed.iterations(0);
  std::string note = absl::StrFormat(
      "%d iterations of %d workers, from %.1f to %.1f s of training", lines,
      workers.size(), first.seconds(), listed.iterations().rbegin()->seconds());
  if (first.sequence() > 1) {
    absl::StrAppend(&note, "; the coordinator keeps no earlier ones");
  }
  return note;
}

}  // namespace

absl::StatusOr<JobTrace> AskJobTrace(Session& session, const std::string& job) {
  v1::ListIterationsRequest request;
  request.set_parent(job);
  PACELINE_ASSIGN_OR_RETURN(const v1::ListIterationsResponse listed,
                            session.List(&JobsApi::ListIterations, request));
  JobTrace trace;
  std::set<std::string> workers;
  size_t lines = 0;
  for (const v1::Iteration& iteration : listed.iterations()) {
    if (!IsTraced(iteration.discarded(), iteration.samples())) continue;
    absl::StrAppend(&trace.lines,
                    TraceLine(iteration.worker(), iteration.iteration(),
                              iteration.samples(), iteration.phases()),
                    "\n");
    workers.insert(iteration.worker());
    ++lines;
  }
  if (lines == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job/", LastPart(job),
        ": the coordinator knows no iteration of it. It has not trained since "
        "the coordinator started, or many other jobs have since then"));
  }
  trace.note = TraceNote(listed, lines, workers);
  return trace;
}

}  // namespace paceline
