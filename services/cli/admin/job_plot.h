#ifndef PACELINE_SERVICES_CLI_ADMIN_JOB_PLOT_H_
#define PACELINE_SERVICES_CLI_ADMIN_JOB_PLOT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/cli/admin/session.h"
#include "services/cli/json_fields.h"
#include "services/cli/plot/plot_file.h"

namespace paceline {

// The page of jobs of a cluster, of what its API knows of them.

// A job as PlotPage() (plot/plot_page.h) takes it, by the name that somebody
// has typed. The errors of the calls; FAILED_PRECONDITION: it has not trained.
absl::StatusOr<Json> GetDrawnJob(Session& session, const std::string& typed);

// Writes the page of these jobs, which were typed as `names`, and says so.
absl::Status WriteJobPage(Session& session, std::vector<Json> jobs,
                          const std::vector<std::string>& names,
                          PlotFile& file);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_JOB_PLOT_H_
