#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TOP_VIEW_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TOP_VIEW_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/progress_view.h"

namespace paceline {

// What `paceline top` shows. Pure: responses to lines.

// The cluster: its jobs that have not ended, and its workers.
std::vector<std::string> ClusterTop(const std::vector<v1::Job>& jobs,
                                    const std::vector<v1::Worker>& workers,
                                    absl::Time now);

// One job: its progress, and its workers with the slowest first.
std::vector<std::string> JobTop(const v1::Job& job);

// The lines as far as they fit; where color is allowed, headings are bold and
// lines of stragglers yellow.
std::vector<std::string> FitTop(std::vector<std::string> lines,
                                const ViewOptions& options);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TOP_VIEW_H_
