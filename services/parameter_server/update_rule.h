#ifndef PACELINE_SERVICES_PARAMETER_SERVER_UPDATE_RULE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_UPDATE_RULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/job/optimizer_spec.h"
#include "common/tensor/payload.h"
#include "common/tensor/tensor_kind.h"
#include "services/parameter_server/block_state.h"
#include "services/parameter_server/momentum_alignment.h"
#include "services/parameter_server/update_kernels.h"

namespace paceline {

// Limits far above any sensible value, as kRateMax is, so that products of what
// a peer names are still floats. Weights are not negative.
inline constexpr uint32_t kSamplesMax = 1u << 24;
inline constexpr float kWeightMax = 1e6f;

// Whether an update may have it.
inline bool IsMomentum(std::optional<double> momentum) {
  return momentum.value_or(0) >= 0 && momentum.value_or(0) < 1;
}

// What one update of one block is made of, before an optimizer takes it.
struct Contribution {
  double samples = 0;         // n, or a round's sum(n).
  double strength = 0;        // s
  double gradient_scale = 1;  // What was sent times this is the mean gradient.
  double rate = 0;            // The learning rate of this update.
  // Of this update, in [0, 1); nothing, or an optimizer that has none: the
  // optimizer's.
  std::optional<double> momentum = std::nullopt;
  // A push by itself, which may be stale; not what a round has gathered.
  bool alone = false;
};

// What a tensor has of its own.
struct TensorTuning {
  double rate_factor = 1;  // Of the learning rate; 0 to kRateMax.
  std::optional<double> weight_decay = {};  // In place of the optimizer's.
  double momentum = 0.1;                    // Of a statistic, in (0, 1].

  friend bool operator==(const TensorTuning&, const TensorTuning&) = default;
};

// What a tensor of so many dimensions has that says nothing itself.
inline TensorTuning TuningOf(const OptimizerSpec& optimizer,
                             size_t dimensions) {
  TensorTuning tuning;
  if (optimizer.no_decay_of_norms_and_biases && dimensions < 2) {
    tuning.weight_decay = 0;
  }
  return tuning;
}

// How a job turns gradients into updates: its optimizer, its batch size B and
// its f. Constant after construction, so thread-safe.
class UpdateRule {
 public:
  // REQUIRES: `optimizer` is valid and batch_size > 0.
  UpdateRule(const OptimizerSpec& optimizer, uint32_t batch_size,
             RoundStrength round_strength)
      : optimizer_(optimizer),
        batch_size_(batch_size),
        round_strength_(round_strength) {}

  // Arrays a block's state has beside the weights.
  int Slots(TensorKind kind) const;

  // A push of `samples` samples that is applied as it arrives:
  // s = weight * samples / B.
  Contribution Immediate(uint32_t samples, float weight, double rate) const;

  // A round that gathered sum(n * u * g) over `samples` = sum(n):
  // the gradient is that sum / samples, s = f(samples / B).
  Contribution Round(uint64_t samples, double rate) const;

  // What a push's elements are multiplied by in a round's sum: n * u, but n for
  // values, whose mean is weighted by samples alone.
  static float RoundFactor(uint32_t samples, float weight, TensorKind kind) {
    const bool gradient = kind == TensorKind::kTrained;
    return static_cast<float>(gradient ? double{weight} * samples : samples);
  }

  // Writes the state of a block of that kind after the update, by one of the
  // rules below. REQUIRES: as these, and a kind that is not frozen. Adds up in
  // `square`, if there is one, the squares of the payload's elements, in the
  // same pass; not finite if one of them is not.
  void Apply(TensorKind kind, const TensorTuning& tuning,
             const Contribution& contribution, const Payload& payload,
             DType dtype, const BlockState& current, BlockState& next,
             double* square = nullptr) const;

  // Writes the state after the update; `next` may be `current`.
  //   SGD: v = m * v + s * (g + wd * w);  w -= rate * v. With a delay of N the
  //   block's updates N, 2 N, ... are those that move the momentum. With HeLoCo
  //   the g of a push that is applied alone is turned towards v before.
  //   Adam, AdamW: moments take g itself; s multiplies the step and the
  //   decoupled decay.
  // REQUIRES: `gradient` has current.size() elements.
  void ApplyGradient(const TensorTuning& tuning,
                     const Contribution& contribution, const Payload& gradient,
                     DType dtype, const BlockState& current, BlockState& next,
                     double* square = nullptr) const;

  // Applies to a statistics block: stat += a * (x - stat),
  // a = 1 - (1 - momentum)^(n / B), without rate or optimizer.
  void ApplyStatistic(const TensorTuning& tuning,
                      const Contribution& contribution, const Payload& x,
                      DType dtype, const BlockState& current,
                      BlockState& next) const;

  // The mean of what was sent takes the place of what is there.
  static void ApplyAverage(const Contribution& contribution, const Payload& x,
                           DType dtype, const BlockState& current,
                           BlockState& next);

 private:
  // What HeLoCo makes of the gradient; nothing where it makes nothing of it.
  MomentumTurn TurnOf(const Contribution& contribution, const SgdTerms& terms,
                      const Payload& gradient, DType dtype,
                      const BlockState& current) const;
  void ApplySgd(const TensorTuning& tuning, const Contribution& contribution,
                const Payload& gradient, DType dtype, const BlockState& current,
                BlockState& next, double* square) const;
  void ApplyAdam(const TensorTuning& tuning, const Contribution& contribution,
                 const Payload& gradient, DType dtype,
                 const BlockState& current, BlockState& next,
                 double* square) const;
  double DecayOf(const TensorTuning& tuning) const {
    return tuning.weight_decay.value_or(optimizer_.weight_decay);
  }

  OptimizerSpec optimizer_;
  double batch_size_;
  RoundStrength round_strength_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_UPDATE_RULE_H_
