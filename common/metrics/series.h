#ifndef PACELINE_COMMON_METRICS_SERIES_H_
#define PACELINE_COMMON_METRICS_SERIES_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <string>
#include <utility>

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

// One series that ends with its owner: what is measured of a job or a member
// that comes and goes. Movable.
template <class Metric>
class OwnedSeries {
 public:
  // The series belongs to `family`, which outlives this.
  template <class... Args>
  OwnedSeries(prometheus::Family<Metric>& family,
              const prometheus::Labels& labels, Args&&... args)
      : family_(&family),
        metric_(&family.Add(labels, std::forward<Args>(args)...)) {}
  ~OwnedSeries() {
    if (metric_ != nullptr) family_->Remove(metric_);
  }
  OwnedSeries(OwnedSeries&& other) noexcept
      : family_(other.family_),
        metric_(std::exchange(other.metric_, nullptr)) {}
  OwnedSeries& operator=(OwnedSeries&&) = delete;

  Metric* operator->() const { return metric_; }

 private:
  prometheus::Family<Metric>* family_;
  Metric* metric_;
};

// Makes series with the same labels, whose names begin alike.
class LabelledSeries {
 public:
  // `registry` outlives it and what it makes.
  LabelledSeries(prometheus::Registry& registry, std::string prefix,
                 prometheus::Labels labels)
      : registry_(registry),
        prefix_(std::move(prefix)),
        labels_(std::move(labels)) {}

  OwnedSeries<prometheus::Counter> Counter(const std::string& name,
                                           const std::string& help) const;
  OwnedSeries<prometheus::Gauge> Gauge(const std::string& name,
                                       const std::string& help) const;
  OwnedSeries<prometheus::Histogram> Histogram(
      const std::string& name, const std::string& help,
      const prometheus::Histogram::BucketBoundaries& buckets) const;

  // Series that have the labels `more` besides those of this one.
  LabelledSeries With(const prometheus::Labels& more) const;

 private:
  prometheus::Registry& registry_;
  const std::string prefix_;
  const prometheus::Labels labels_;
};

// The series paceline_build_info, which is 1 and says what this program is.
void ExportBuild(prometheus::Registry& registry, const std::string& version);

// Buckets that several processes share, so that their series add up.
prometheus::Histogram::BucketBoundaries DurationBuckets();  // 1 ms .. 60 s
prometheus::Histogram::BucketBoundaries CountBuckets();     // 0, 1, 2, 4 .. 256

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_SERIES_H_
