#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TOP_VIEW_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TOP_VIEW_H_

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/progress_view.h"

namespace paceline {

// What `paceline top` shows. Pure: responses to lines.

inline constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();

// The cluster: its jobs that have not ended, and its workers. Of its tables
// columns are left out that can be spared, where the lines would be wider than
// `width`.
std::vector<std::string> ClusterTop(const std::vector<v1::Job>& jobs,
                                    const std::vector<v1::Worker>& workers,
                                    absl::Time now, size_t width = kAnyWidth);

// One job: its progress, and its workers with the slowest first, whose table
// is as wide.
std::vector<std::string> JobTop(const v1::Job& job, size_t width = kAnyWidth);

// The lines as far as they fit; where color is allowed, headings are bold,
// lines of stragglers yellow, and states have their colours.
std::vector<std::string> FitTop(std::vector<std::string> lines,
                                const ViewOptions& options);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TOP_VIEW_H_
