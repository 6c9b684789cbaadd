#ifndef PACELINE_TESTS_COMMON_METRICS_EXPOSITION_H_
#define PACELINE_TESTS_COMMON_METRICS_EXPOSITION_H_

#include <prometheus/metric_family.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paceline {

// What a scrape gets, read from Prometheus' text as a scraper reads it. Names
// are those of samples: a histogram `h` is `h_bucket`, `h_sum` and `h_count`.
// A value.
class Exposition {
 public:
  // The test fails, and says which, if a line is not of the format.
  explicit Exposition(absl::string_view text);
  // Of what a registry has collected, by the serializer that serves `/metrics`.
  explicit Exposition(const std::vector<prometheus::MetricFamily>& families);

  const std::string& text() const { return text_; }

  // Sorted.
  std::vector<std::string> Names() const;
  // How many series of that name there are.
  size_t SeriesOf(const std::string& name) const;
  // The distinct values of each of its labels.
  std::map<std::string, std::set<std::string>> LabelsOf(
      const std::string& name) const;
  std::set<std::string> ValuesOf(const std::string& name,
                                 const std::string& label) const;
  // The sum of its series' values, 0 if it has none.
  double Sum(const std::string& name) const;

 private:
  using Labels = std::map<std::string, std::string>;
  struct Series {
    Labels labels;
    double value = 0;
  };

  bool Read(absl::string_view line);

  std::string text_;
  std::map<std::string, std::vector<Series>> series_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_METRICS_EXPOSITION_H_
