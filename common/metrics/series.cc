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

OwnedSeries<prometheus::Counter> LabelledSeries::Counter(
    const std::string& name, const std::string& help) const {
  return {prometheus::BuildCounter()
              .Name(prefix_ + name)
              .Help(help)
              .Register(registry_),
          labels_};
}

OwnedSeries<prometheus::Gauge> LabelledSeries::Gauge(
    const std::string& name, const std::string& help) const {
  return {prometheus::BuildGauge()
              .Name(prefix_ + name)
              .Help(help)
              .Register(registry_),
          labels_};
}

OwnedSeries<prometheus::Histogram> LabelledSeries::Histogram(
    const std::string& name, const std::string& help,
    const prometheus::Histogram::BucketBoundaries& buckets) const {
  return {prometheus::BuildHistogram()
              .Name(prefix_ + name)
              .Help(help)
              .Register(registry_),
          labels_, buckets};
}

LabelledSeries LabelledSeries::With(const prometheus::Labels& more) const {
  prometheus::Labels labels = labels_;
  labels.insert(more.begin(), more.end());
  return {registry_, prefix_, std::move(labels)};
}

void ExportBuild(prometheus::Registry& registry, const std::string& version) {
  prometheus::BuildGauge()
      .Name("paceline_build_info")
      .Help("1, with what the program was built from as its labels.")
      .Register(registry)
      .Add({{"version", version}, {"compiler", __VERSION__}})
      .Set(1);
}

prometheus::Histogram::BucketBoundaries DurationBuckets() {
  return {.001, .0025, .005, .01, .025, .05, .1, .25,
          .5,   1,     2.5,  5,   10,   30,  60};
}

prometheus::Histogram::BucketBoundaries CountBuckets() {
  return {0, 1, 2, 4, 8, 16, 32, 64, 128, 256};
}

}  // namespace paceline
