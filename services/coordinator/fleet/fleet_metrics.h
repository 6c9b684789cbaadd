#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_METRICS_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_METRICS_H_

#include <prometheus/registry.h>

#include "common/metrics/series.h"

namespace paceline {

// What the coordinator measures of its members' streams.
class FleetMetrics {
 public:
  explicit FleetMetrics(prometheus::Registry& registry)
      : sessions_resumed(CounterSeries(
            registry, "paceline_coordinator_sessions_resumed_total",
            "Streams of workers and servers that went on where a broken one "
            "had ended.")) {}

  prometheus::Counter& sessions_resumed;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_METRICS_H_
