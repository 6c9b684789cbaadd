#ifndef PACELINE_COMMON_METRICS_SERVE_METRICS_H_
#define PACELINE_COMMON_METRICS_SERVE_METRICS_H_

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paceline {

// Serves what `sources` and ProcessMetrics collect at http://ADDRESS/metrics
// until the process ends, and returns the port. `address` is "host:port"; port
// 0: the system chooses. UNAVAILABLE if it cannot be listened on. To be called
// once, by main.
absl::StatusOr<int> ServeMetrics(
    const std::string& address,
    std::vector<std::shared_ptr<prometheus::Collectable>> sources);

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_SERVE_METRICS_H_
