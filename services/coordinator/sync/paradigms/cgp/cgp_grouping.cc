#include "services/coordinator/sync/paradigms/cgp/cgp_grouping.h"

#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_sums.h"

namespace paceline {
namespace {

// Walks over all divisions, the first group's size ascending, then the second
// one's and so on: of equally good ones the first met is the one wanted.
class ExactGrouping {
 public:
  ExactGrouping(absl::Span<const double> busy_s, double beta)
      : periods_(busy_s), rest_(busy_s.size() + 1) {
    for (size_t i = periods_.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1] + 1 / periods_[i];
    }
    floor_ = SpeedFloor(beta, rest_[0]);
  }

  std::vector<size_t> Run() {
    Extend(0, CgpSums());
    return best_sizes_;
  }

 private:
  // Divides the workers from `begin` on; `sums` is of those before it.
  void Extend(size_t begin, const CgpSums& sums) {
    // Nothing that begins so is fast enough.
    if (sums.speed() + rest_[begin] < floor_) return;
    if (begin == periods_.size()) {
      if (!best_sizes_.empty() && !sums.BetterThan(best_)) return;
      best_ = sums;
      best_sizes_ = sizes_;
      return;
    }
    for (size_t end = begin + 1; end <= periods_.size(); ++end) {
      CgpSums more = sums;
      more.Add(end - begin, periods_[end - 1]);
      sizes_.push_back(end - begin);
      Extend(end, more);
      sizes_.pop_back();
    }
  }

  const absl::Span<const double> periods_;
  std::vector<double> rest_;  // Speed of the workers from there on, alone.
  double floor_ = 0;
  std::vector<size_t> sizes_;  // Of the groups so far.
  CgpSums best_;
  std::vector<size_t> best_sizes_;
};

}  // namespace

CgpGrouping EvaluateGrouping(absl::Span<const double> busy_s,
                             absl::Span<const size_t> sizes) {
  CgpSums sums;
  CgpGrouping grouping{.sizes = {sizes.begin(), sizes.end()}};
  size_t end = 0;
  for (const size_t size : sizes) {
    end += size;
    CHECK(size > 0 && end <= busy_s.size());
    sums.Add(size, busy_s[end - 1]);
  }
  CHECK(end == busy_s.size() && end > 0);
  grouping.speed = sums.speed();
  grouping.missed = sums.Missed() / static_cast<double>(end * end);
  return grouping;
}

CgpGrouping GroupByPace(absl::Span<const double> busy_s, double beta) {
  CHECK(!busy_s.empty() && busy_s.front() > 0);
  CHECK(std::is_sorted(busy_s.begin(), busy_s.end()));
  CHECK(beta >= 0 && beta <= 1);
  if (busy_s.size() > kExactWorkers) return GroupGreedily(busy_s, beta);
  return EvaluateGrouping(busy_s, ExactGrouping(busy_s, beta).Run());
}

}  // namespace paceline
