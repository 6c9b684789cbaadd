#ifndef PACELINE_SERVICES_PARAMETER_SERVER_DELAY_COMPENSATION_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_DELAY_COMPENSATION_H_

#include <cstddef>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/block_state.h"

namespace paceline {

// How a gradient is corrected for what its weights have moved since they were
// pulled (Zheng et al., ICML 2017).
struct CompensationTerms {
  // 0: not at all. DC-ASGD-c: g + lambda * g * g * (w - w_pulled).
  float lambda = 0;
  // Nothing: DC-ASGD-c. m, in [0, 1): DC-ASGD-a, in which lambda is divided,
  // element by element, by the root of the running mean
  // MeanSquare = m * MeanSquare + (1 - m) * g * g.
  std::optional<float> memory = std::nullopt;
};

// The compensation of one block's gradients, with the running mean that the
// adaptive one needs. Thread-safe.
//
// The mean has no part in checkpoints, nor in what a backup gets: a backup gets
// compensated gradients. Where a shard begins anew the mean does, too. So that
// this costs nothing it begins with the square of its first gradient; the paper
// begins at 0, which makes the first corrections 1 / sqrt(1 - m) times as
// large.
class DelayCompensation {
 public:
  explicit DelayCompensation(size_t size) : size_(size) {}

  DelayCompensation(const DelayCompensation&) = delete;
  DelayCompensation& operator=(const DelayCompensation&) = delete;

  // Corrects the gradient, whose element count is that of the block. It was
  // computed at the weights of `pulled`, and is applied to those of `now`.
  // Null: these are not known, and the gradient only counts for the mean.
  void Correct(const CompensationTerms& terms, const BlockState& now,
               const BlockState* pulled, float* gradient);

 private:
  const size_t size_;
  absl::Mutex mu_;
  // Null until a gradient needs it.
  FloatBuffer mean_square_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_DELAY_COMPENSATION_H_
