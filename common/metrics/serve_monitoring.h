#ifndef PACELINE_COMMON_METRICS_SERVE_MONITORING_H_
#define PACELINE_COMMON_METRICS_SERVE_MONITORING_H_

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/metrics/readiness.h"

namespace paceline {

// Serves over plain HTTP until the process ends, whatever security the other
// ports have:
//
//   /metrics  what `sources` and ProcessMetrics collect.
//   /healthz  200 as long as the process answers, whatever its peers do.
//   /readyz   200 if `readiness` is OK, else 503 with its message.
//
// Returns the port. `address` is "host:port"; port 0: the system chooses.
// UNAVAILABLE if it cannot be listened on. To be called once, by main.
absl::StatusOr<int> ServeMonitoring(
    const std::string& address,
    std::vector<std::shared_ptr<prometheus::Collectable>> sources,
    std::shared_ptr<const Readiness> readiness);

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_SERVE_MONITORING_H_
