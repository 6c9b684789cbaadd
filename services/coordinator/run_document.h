#ifndef PACELINE_SERVICES_COORDINATOR_RUN_DOCUMENT_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_DOCUMENT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "services/coordinator/accuracy.h"
#include "services/coordinator/int_histogram.h"
#include "services/coordinator/sync/core/sync_messages.h"

namespace paceline {

// The parts that the documents of real and of simulated runs have in common.

// {"accuracy", "loss", ...}: what the evaluation has measured.
nlohmann::ordered_json MetricsJson(const AccuracyPoint& point);

// An array of objects with the fields' names; what was not measured is null,
// and `metrics` is there where there are others than these two.
nlohmann::ordered_json AccuracyJson(const std::vector<AccuracyPoint>& points);

// {"p50", "p99", "max"}
nlohmann::ordered_json QuantilesJson(const IntHistogram& histogram);

// {"seconds", "from", "to", "reason", "version", "samples", "took_seconds"};
// `seconds` is when it was, `took` until the last old plan was counted.
nlohmann::ordered_json SwitchJson(const Switched& switched, double seconds,
                                  std::optional<double> took);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_DOCUMENT_H_
