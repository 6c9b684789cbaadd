#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADERSHIP_METRICS_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADERSHIP_METRICS_H_

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "common/metrics/series.h"

namespace paceline {

// What is measured of who leads and who follows. All but `leads` are the
// leader's alone, and 0 elsewhere.
struct LeadershipMetrics {
  explicit LeadershipMetrics(prometheus::Registry& registry)
      : leads(GaugeSeries(registry, "paceline_coordinator_leads",
                          "1 where the coordinator leads, 0 where it stands "
                          "by.")),
        term(GaugeSeries(registry, "paceline_coordinator_term",
                         "Rises with each coordinator that leads.")),
        standbys(GaugeSeries(registry, "paceline_coordinator_standbys",
                             "Coordinators that stand by and have everything "
                             "that this one has promised.")),
        standbys_wanted(GaugeSeries(registry,
                                    "paceline_coordinator_standbys_wanted",
                                    "Coordinators that are to stand by: 1 with "
                                    "--leader-lock.")),
        entries_behind(GaugeSeries(
            registry, "paceline_coordinator_standby_entries_behind",
            "Changes that the one that stands by has not written down yet.")) {}

  prometheus::Gauge& leads;
  prometheus::Gauge& term;
  prometheus::Gauge& standbys;
  prometheus::Gauge& standbys_wanted;
  prometheus::Gauge& entries_behind;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADERSHIP_METRICS_H_
