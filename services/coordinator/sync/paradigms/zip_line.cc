#include "services/coordinator/sync/paradigms/zip_line.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "common/check.h"

namespace paceline {
namespace {

struct End {
  int64_t at = 0;
  size_t worker = 0;
  int64_t iteration = 0;  // From 1.
};

// The paper's Omega: all ends, by time and then by worker, one after the other.
class EndsInOrder {
 public:
  explicit EndsInOrder(absl::Span<const std::vector<int64_t>> ends)
      : ends_(ends) {
    for (size_t worker = 0; worker < ends.size(); ++worker) {
      CHECK(!ends[worker].empty());
      heap_.push_back({ends[worker].front(), worker, 1});
    }
    std::make_heap(heap_.begin(), heap_.end(), After);
  }

  bool empty() const { return heap_.empty(); }

  // REQUIRES: not empty.
  End Next() {
    std::pop_heap(heap_.begin(), heap_.end(), After);
    End& back = heap_.back();
    const End next = back;
    const std::vector<int64_t>& own = ends_[next.worker];
    const auto done = static_cast<size_t>(next.iteration);
    if (done == own.size()) {
      heap_.pop_back();
    } else {
      back = {own[done], next.worker, next.iteration + 1};
      std::push_heap(heap_.begin(), heap_.end(), After);
    }
    return next;
  }

 private:
  static bool After(const End& a, const End& b) {
    return std::tie(a.at, a.worker) > std::tie(b.at, b.worker);
  }

  const absl::Span<const std::vector<int64_t>> ends_;
  std::vector<End> heap_;  // Each worker's next one.
};

}  // namespace

BarrierPlan ZipLine(absl::Span<const std::vector<int64_t>> ends) {
  if (ends.empty()) return {};
  EndsInOrder in_order(ends);
  std::vector<End> merged;  // As far as it was looked at.
  // The paper's Z: each worker's iteration in it, 0 for none.
  std::vector<int64_t> z(ends.size());
  size_t in_z = 0;
  size_t oldest = 0;  // min Z: nothing before it is in Z any more.
  std::optional<size_t> last_of_best;
  BarrierPlan best;
  // No barrier is better than one without waiting.
  while (!in_order.empty() &&
         !(last_of_best.has_value() && best.waiting == 0)) {
    const size_t i = merged.size();
    merged.push_back(in_order.Next());
    const End end = merged.back();
    if (z[end.worker] == 0) ++in_z;
    z[end.worker] = end.iteration;
    if (in_z < ends.size()) continue;
    while (merged[oldest].iteration != z[merged[oldest].worker]) ++oldest;
    const int64_t waiting = end.at - merged[oldest].at;
    if (!last_of_best.has_value() || waiting < best.waiting) {
      last_of_best = i;
      best.waiting = waiting;
    }
    z[merged[oldest].worker] = 0;
    --in_z;
  }
  // Z held each worker's latest end until then.
  best.iterations.resize(ends.size());
  for (size_t i = 0; i <= *last_of_best; ++i) {
    best.iterations[merged[i].worker] = merged[i].iteration;
  }
  return best;
}

}  // namespace paceline
