// Jobs::ListIterations().

#include <memory>
#include <utility>
#include <vector>

#include "common/status.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {

absl::StatusOr<v1::ListIterationsResponse> Jobs::ListIterations(
    const v1::ListIterationsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const auto wanted, CheckList(request));
  std::shared_ptr<const IterationLog> log;
  {
    absl::MutexLock lock(&book_.mu());
    PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry,
                              book_.Find(wanted.job.Format()));
    log = entry->iterations;
  }
  v1::ListIterationsResponse response;
  if (log == nullptr) return response;
  const auto size = static_cast<size_t>(wanted.page.size);
  response.set_next_page_token(
      TakeSequencePage(log->After(wanted.page.after, size + 1), wanted.page,
                       [&](v1::Iteration& iteration) {
                         *response.add_iterations() = std::move(iteration);
                         return response.iterations().rbegin()->sequence();
                       }));
  return response;
}

}  // namespace paceline
