#ifndef PACELINE_COMMON_METRICS_PROCESS_METRICS_H_
#define PACELINE_COMMON_METRICS_PROCESS_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace paceline {

// What every Prometheus client exports of its process, by the names that they
// have agreed on: CPU seconds, memory, open files, the start. Read from /proc
// at each scrape; what cannot be read is left out. Thread-safe.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  // Measures the process whose folder in /proc this is.
  explicit ProcessMetrics(std::string folder = "/proc/self",
                          absl::Time started = absl::Now())
      : folder_(std::move(folder)), started_(started) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string folder_;
  const absl::Time started_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_PROCESS_METRICS_H_
