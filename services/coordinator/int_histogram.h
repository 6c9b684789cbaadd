#ifndef PACELINE_SERVICES_COORDINATOR_INT_HISTOGRAM_H_
#define PACELINE_SERVICES_COORDINATOR_INT_HISTOGRAM_H_

#include <cstdint>
#include <map>

namespace paceline {

// Exact counts of small integers (gaps, staleness) and their quantiles.
// Thread-compatible.
class IntHistogram {
 public:
  void Add(int64_t value, int64_t times = 1) {
    counts_[value] += times;
    total_ += times;
  }

  // The smallest value that at least `share` (0 to 1) of the values do not
  // exceed; 0 if there is none.
  int64_t Quantile(double share) const {
    const double wanted = share * static_cast<double>(total_);
    int64_t seen = 0;
    for (const auto& [value, count] : counts_) {
      seen += count;
      if (static_cast<double>(seen) >= wanted) return value;
    }
    return Max();
  }

  int64_t Max() const { return counts_.empty() ? 0 : counts_.rbegin()->first; }
  int64_t total() const { return total_; }

  // How often each value was seen, by value.
  const std::map<int64_t, int64_t>& counts() const { return counts_; }

 private:
  std::map<int64_t, int64_t> counts_;
  int64_t total_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_INT_HISTOGRAM_H_
