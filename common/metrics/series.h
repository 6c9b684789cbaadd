#ifndef PACELINE_COMMON_METRICS_SERIES_H_
#define PACELINE_COMMON_METRICS_SERIES_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace paceline {

// One series of a family without labels, registered once at start: the hot path
// is then one atomic addition.

prometheus::Counter& CounterSeries(prometheus::Registry& registry,
                                   const std::string& name,
                                   const std::string& help);
prometheus::Gauge& GaugeSeries(prometheus::Registry& registry,
                               const std::string& name,
                               const std::string& help);
prometheus::Histogram& HistogramSeries(
    prometheus::Registry& registry, const std::string& name,
    const std::string& help, prometheus::Histogram::BucketBoundaries buckets);

// Buckets that several processes share, so that their series add up.
prometheus::Histogram::BucketBoundaries DurationBuckets();  // 1 ms .. 60 s
prometheus::Histogram::BucketBoundaries CountBuckets();     // 0, 1, 2, 4 .. 256

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_SERIES_H_
