#include "services/parameter_server/momentum_alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paceline {
namespace {

// As published.
constexpr double kEnoughCosine = 0.2;  // c_ok
constexpr double kShrink = 0.5;        // k_s
constexpr double kMostShrink = 0.5;    // beta_max
constexpr double kTurn = 1;            // k_d
constexpr double kMomentumShare = 3;   // kappa
constexpr double kLeastNorm = 1e-8;    // epsilon

}  // namespace

MomentumTurn TurnTowardsMomentum(const AlignmentSums& sums,
                                 const AlignmentScale& scale) {
  const double gradient = scale.gradient * std::sqrt(sums.gradient_square);
  const double momentum = scale.momentum * std::sqrt(sums.momentum_square);
  // Not so for a NaN either.
  if (!(gradient >= kLeastNorm && momentum >= kLeastNorm)) return {};
  const double cosine = std::clamp(sums.dot / std::sqrt(sums.gradient_square) /
                                       std::sqrt(sums.momentum_square),
                                   -1.0, 1.0);
  if (!(cosine < kEnoughCosine)) return {};
  const double confidence = gradient / (gradient + kMomentumShare * momentum);
  double keep = 1;
  double along = 0;  // Of v / |v|, in |g|.
  if (cosine < 0) {
    along = -cosine * std::min(kShrink * -cosine * confidence, kMostShrink);
  } else {
    const double turn = std::min(kTurn * (1 - cosine) * confidence, 1.0);
    // |(1 - turn) * g / |g| + turn * v / |v||; 1 / sqrt(2) at least.
    const double length = std::sqrt((1 - turn) * (1 - turn) + turn * turn +
                                    2 * turn * (1 - turn) * cosine);
    keep = (1 - turn) / length;
    along = turn / length;
  }
  along *= std::sqrt(sums.gradient_square / sums.momentum_square);
  if (!(along <= std::numeric_limits<float>::max())) return {};
  return {static_cast<float>(keep), static_cast<float>(along)};
}

}  // namespace paceline
