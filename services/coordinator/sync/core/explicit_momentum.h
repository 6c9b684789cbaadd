#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_EXPLICIT_MOMENTUM_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_EXPLICIT_MOMENTUM_H_

#include <cstdint>

namespace paceline {

// The explicit momentum of an update, so that with what staleness adds the
// total is that of `total`.
//
// Asynchrony acts as a momentum (Mitliagkas, Zhang, Hadjis and Re, Allerton
// 2016, "Asynchrony begets momentum", theorem 1): with P equal workers whose
// times have no memory an expected step is 1 - 1 / P times the last one, and a
// gradient has the share 1 / P of it. Such workers have the mean staleness
// sigma = P - 1, so that the implicit momentum is
//
//   implicit = 1 - 1 / (1 + sigma).
//
// A momentum m sums up steps over 1 / (1 - m) updates, its memory. That of the
// implicit one is 1 + sigma. Our combination, which the paper does not have: of
// two that follow each other the memories multiply. The total is the wanted one
// if
//
//   (1 - explicit) * (1 - implicit) = 1 - total,
//
// that is explicit = 1 - (1 - total) * (1 + sigma). Where staleness alone
// remembers longer than that, nothing can be taken off: 0.
//
// `total` itself, to the bit, for a staleness of 0.
// REQUIRES: 0 <= total < 1, staleness >= 0.
double ExplicitMomentum(double total, double staleness);

// The mean staleness of about the latest hundred pushes; 0 before the first.
// Thread-compatible.
class MeanStaleness {
 public:
  void Add(int64_t staleness);
  double value() const { return value_; }

 private:
  int64_t pushes_ = 0;
  double value_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_EXPLICIT_MOMENTUM_H_
