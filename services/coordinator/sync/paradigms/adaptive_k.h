#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ADAPTIVE_K_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ADAPTIVE_K_H_

#include <cstdint>
#include <optional>

#include "common/job/paradigm_spec.h"

namespace paceline {

// How many gradients an update takes while the training loss falls: AdaSync
// (Dutta, Wang and Joshi, JSAIT 2021, arXiv 2003.10579).
//
// The paper's: over a stretch of time t from weights of loss F, the error is
// bounded by 2 F E[T(K)] / (eta t) + L eta sigma^2 / (K m), where T(K) is the
// time of an update of K gradients, each of m samples. The K that makes this
// least depends on constants that nobody knows. They cancel out when the K that
// is best at the loss F_0 is taken to be K_0. With P workers
//
//   K^2 / (P - K) = K_0^2 / (P - K_0) * F_0 / F   where E[T(K)] is that of the
//                   K-th of P times without memory, about log(P / (P - K)):
//                   K-sync,
//   K = K_0 sqrt(F_0 / F)                         where E[T(K)] grows with K:
//                   K-batch-sync, K-async, K-batch-async.
//
// Ours: F is no loss of the whole training set but the mean of about the last
// 50 pushes, and F_0 that of the first K_0; K is rounded to the nearest, and
// taken anew for each round rather than at fixed intervals; it is never less
// than K_0, and never more than the workers unless K_0 is; a loss that is not
// known leaves K as it is.
//
// Pure and deterministic. Thread-compatible.
class AdaptiveK {
 public:
  enum class UpdateTime : uint8_t { kLastOfWorkers, kInProportion };

  // REQUIRES: k.k >= 1.
  AdaptiveK(const GradientCount& k, UpdateTime time) : k_(k), time_(time) {}

  // The servers have a push of that mean loss, or of one that nobody knows.
  void Pushed(std::optional<double> loss);

  // The K of an update that is begun now, while so many workers take part. That
  // is k.k if it does not adapt.
  int64_t Of(int64_t workers) const;

 private:
  // F_0 / F; nothing if it is not known.
  std::optional<double> Fallen() const;

  const GradientCount k_;
  const UpdateTime time_;
  int64_t losses_ = 0;  // How many the first mean has: k.k at most.
  double first_ = 0;    // Their mean.
  double now_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ADAPTIVE_K_H_
