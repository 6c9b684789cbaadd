#include "common/metrics/series.h"

#include <utility>

namespace paceline {

namespace {

template <class Builder>
auto& Family(Builder builder, prometheus::Registry& registry,
             const std::string& name, const std::string& help) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace

prometheus::Counter& CounterSeries(prometheus::Registry& registry,
                                   const std::string& name,
                                   const std::string& help) {
  return Family(prometheus::BuildCounter(), registry, name, help).Add({});
}

prometheus::Gauge& GaugeSeries(prometheus::Registry& registry,
                               const std::string& name,
                               const std::string& help) {
  return Family(prometheus::BuildGauge(), registry, name, help).Add({});
}

prometheus::Histogram& HistogramSeries(
    prometheus::Registry& registry, const std::string& name,
    const std::string& help, prometheus::Histogram::BucketBoundaries buckets) {
  return Family(prometheus::BuildHistogram(), registry, name, help)
      .Add({}, std::move(buckets));
}

OwnedSeries<prometheus::Counter> LabelledSeries::Counter(
    const std::string& name, const std::string& help) const {
  return {Family(prometheus::BuildCounter(), registry_, prefix_ + name, help),
          labels_};
}

OwnedSeries<prometheus::Gauge> LabelledSeries::Gauge(
    const std::string& name, const std::string& help) const {
  return {Family(prometheus::BuildGauge(), registry_, prefix_ + name, help),
          labels_};
}

OwnedSeries<prometheus::Histogram> LabelledSeries::Histogram(
    const std::string& name, const std::string& help,
    const prometheus::Histogram::BucketBoundaries& buckets) const {
  return {Family(prometheus::BuildHistogram(), registry_, prefix_ + name, help),
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
