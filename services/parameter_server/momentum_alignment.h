#ifndef PACELINE_SERVICES_PARAMETER_SERVER_MOMENTUM_ALIGNMENT_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_MOMENTUM_ALIGNMENT_H_

#include "services/parameter_server/update_kernels.h"

namespace paceline {

// A gradient g is taken as keep * g + along * v, with the momentum v.
struct MomentumTurn {
  float keep = 1;
  float along = 0;

  bool nothing() const { return keep == 1 && along == 0; }
};

// What makes the magnitudes of g and v those that the paper compares.
struct AlignmentScale {
  double gradient = 1;  // Of what the momentum takes up: times g. Above 0.
  double momentum = 1;  // Of a mean: times v. Above 0.
};

// HeLoCo's correction of a stale gradient (Al Asif et al., 2026, arXiv
// 2606.00271, equations 7 to 15), by the cosine c of g and v. With D = |g|
// times its scale, M = |v| times its scale, and the confidence
// D / (D + kappa * M):
//   c >= c_ok: g stays.
//   c < 0: what opposes v shrinks, g - beta * c * |g| * v / |v|, with
//     beta = min(k_s * -c * confidence, beta_max).
//   Between: g is turned towards v and keeps its length. Its direction is that
//     of (1 - lambda) * g / |g| + lambda * v / |v|, with
//     lambda = min(k_d * (1 - c) * confidence, 1).
// The constants are the paper's: c_ok = 0.2, k_s = 0.5, beta_max = 0.5, k_d = 1
// and kappa = 3. g stays as well where D or M is below 1e-8, and where a float
// cannot hold what v would be multiplied by. Pure.
MomentumTurn TurnTowardsMomentum(const AlignmentSums& sums,
                                 const AlignmentScale& scale);

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_MOMENTUM_ALIGNMENT_H_
