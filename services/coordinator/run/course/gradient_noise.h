#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_GRADIENT_NOISE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_GRADIENT_NOISE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace paceline {

// A gradient that is the mean over so many samples.
struct MeasuredGradient {
  double samples = 0;
  double square = 0;  // |g|^2: the sum of the squares of its elements.
};

// What gradients are made of: over samples drawn by chance, the gradient of one
// is G on average, and its elements' variances add up to S.
struct GradientNoise {
  // |G|^2, and S. Estimates of the first may be below 0 where the second hides
  // it.
  double square = 0;
  double variance = 0;

  // S / |G|^2 (B_simple of McCandlish et al., 2018, arXiv 1812.06162): the
  // samples of a batch whose noise is as large as its gradient. An update of
  // far fewer learns from each sample as much as it can, one of far more wastes
  // them. Nothing if the gradient cannot be told from 0.
  std::optional<double> Scale() const {
    if (!(square > 0)) return std::nullopt;
    return std::max(0.0, variance) / square;
  }
  // The noise of a mean over so many samples over its gradient: infinite if the
  // latter cannot be told from 0.  REQUIRES: samples > 0.
  double Over(double samples) const {
    const std::optional<double> scale = Scale();
    if (!scale.has_value()) return std::numeric_limits<double>::infinity();
    return *scale / samples;
  }
};

// From an update that has the mean, over all samples, of gradients of unequal
// batches that were computed from the same weights; `mean_square` is its own
// |g|^2. Without bias. Nothing of fewer than two of them.
//
// As Cannikin has it (Nie et al., 2024, arXiv 2402.05302): with B samples in
// all each gradient, of b, gives an estimate of its own,
//
//   |G|^2 = (B mean_square - b |g|^2) / (B - b),
//   S     = b B / (B - b) * (|g|^2 - mean_square),
//
// of which this is the mean with weights in proportion to B - b, n of them:
//
//   S     = (sum of b |g|^2 - B mean_square) / (n - 1),
//   |G|^2 = mean_square - S / B.
//
// With these weights, which are not Cannikin's, what |g|^2 has in the first
// order of the noise cancels out; no other estimate without bias has a smaller
// variance if the noise is normal. Pure.
std::optional<GradientNoise> EstimateNoise(
    absl::Span<const MeasuredGradient> gradients, double mean_square);

// Its mean over about the last thousand batches of the job's size, as AdaptDL
// has it (Qiao et al., OSDI 2021): an update with the gradients of s of them
// leaves 0.999^s of what was known, and both means are corrected for having
// begun at 0. Pure. Thread-compatible.
//
// Ours: no update counts for more than kMost times what was usual before, which
// is the mean, and at first the median of kEnough updates. One gradient that
// went astray would otherwise be all that is known for a thousand batches. What
// has become usual is believed nevertheless: the mean doubles in about eighty.
class SmoothedNoise {
 public:
  // Updates before which nothing is said.
  static constexpr int64_t kEnough = 20;
  static constexpr double kMost = 10;

  // REQUIRES: batch_size > 0.
  explicit SmoothedNoise(double batch_size) : batch_size_(batch_size) {}

  // An update of so many samples.
  void Add(double samples, const GradientNoise& noise);
  std::optional<GradientNoise> mean() const;

 private:
  struct Update {
    double samples = 0;
    GradientNoise noise;
  };

  // Adds it as far as it is believed beside what is usual.
  void Count(const Update& update, const GradientNoise& usual);

  double batch_size_;
  std::vector<Update> first_;  // Until there are enough.
  double weight_ = 0;          // Of all that are counted.
  GradientNoise sum_;          // Weighted.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_GRADIENT_NOISE_H_
