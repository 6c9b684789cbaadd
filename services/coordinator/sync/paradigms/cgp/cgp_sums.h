#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_SUMS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_SUMS_H_

#include <cstddef>

namespace paceline {

// The sums of which S and D of a grouping (CgpGrouping) are made, so that
// adding a group takes O(1): D * P^2 = sum |g| T_g * sum |h| / T_h - sum |g|^2.
class CgpSums {
 public:
  void Add(size_t size, double period);
  void Remove(size_t size, double period);

  double speed() const { return speed_; }                      // S
  double Missed() const { return work_ * speed_ - squares_; }  // D * P^2

  // Whether it has less D, or with equal D more S, or with equal S fewer
  // groups. Values that differ only by rounding are equal.
  bool BetterThan(const CgpSums& other) const;

 private:
  double work_ = 0;     // sum |g| * T_g
  double speed_ = 0;    // sum |g| / T_g
  double squares_ = 0;  // sum |g|^2
  int groups_ = 0;
};

// The least S that counts as beta of `alone`, but for rounding.
double SpeedFloor(double beta, double alone);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_SUMS_H_
