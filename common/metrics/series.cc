#include "common/metrics/series.h"

#include <utility>

namespace paceline {

prometheus::Counter& CounterSeries(prometheus::Registry& registry,
                                   const std::string& name,
                                   const std::string& help) {
  return prometheus::BuildCounter()
      .Name(name)
      .Help(help)
      .Register(registry)
      .Add({});
}

prometheus::Gauge& GaugeSeries(prometheus::Registry& registry,
                               const std::string& name,
                               const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(
      {});
}

prometheus::Histogram& HistogramSeries(
    prometheus::Registry& registry, const std::string& name,
    const std::string& help, prometheus::Histogram::BucketBoundaries buckets) {
  return prometheus::BuildHistogram()
      .Name(name)
      .Help(help)
      .Register(registry)
      .Add({}, std::move(buckets));
}

prometheus::Histogram::BucketBoundaries DurationBuckets() {
  return {.001, .0025, .005, .01, .025, .05, .1, .25,
          .5,   1,     2.5,  5,   10,   30,  60};
}

prometheus::Histogram::BucketBoundaries CountBuckets() {
  return {0, 1, 2, 4, 8, 16, 32, 64, 128, 256};
}

}  // namespace paceline
