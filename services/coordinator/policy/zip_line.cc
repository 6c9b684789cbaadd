#include "services/coordinator/policy/zip_line.h"

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

// The paper's Omega: all ends, by time and then by worker.
std::vector<End> Merge(absl::Span<const std::vector<int64_t>> ends) {
  std::vector<End> merged;
  for (size_t worker = 0; worker < ends.size(); ++worker) {
    CHECK(!ends[worker].empty());
    int64_t iteration = 0;
    for (const int64_t at : ends[worker]) {
      merged.push_back({at, worker, ++iteration});
    }
  }
  std::sort(merged.begin(), merged.end(), [](const End& a, const End& b) {
    return std::tie(a.at, a.worker) < std::tie(b.at, b.worker);
  });
  return merged;
}

}  // namespace

BarrierPlan ZipLine(absl::Span<const std::vector<int64_t>> ends) {
  if (ends.empty()) return {};
  const std::vector<End> merged = Merge(ends);
  // The paper's Z: each worker's iteration in it, 0 for none.
  std::vector<int64_t> z(ends.size());
  size_t in_z = 0;
  size_t oldest = 0;  // min Z: nothing before it is in Z any more.
  std::optional<size_t> last_of_best;
  BarrierPlan best;
  for (size_t i = 0; i < merged.size(); ++i) {
    const End& end = merged[i];
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
