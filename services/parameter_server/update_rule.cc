#include "services/parameter_server/update_rule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/check.h"
#include "common/tensor/square_sum.h"

namespace paceline {
namespace {

// The arrays from element `i` on, as StateIn or StateOut.
template <class Arrays, class State>
Arrays From(State& state, size_t i) {
  auto* const first = state.slot(0);
  auto* const second = state.slot(1);
  return {state.weights() + i, first == nullptr ? nullptr : first + i,
          second == nullptr ? nullptr : second + i};
}

// Elements that are still in the first-level cache for the update after their
// squares were added up.
constexpr size_t kTile = 512;

// Runs update(gradient, count, in, out) over the whole block, for at most
// `most` elements at once; adds the squares of the gradient to `square`, if
// there is one.
template <class Kernel>
void ForEachRun(const Payload& gradient, DType dtype, const BlockState& current,
                BlockState& next, Kernel update, double* square = nullptr,
                size_t most = std::numeric_limits<size_t>::max()) {
  CHECK(gradient.size() == EncodedSize(dtype, current.size()));
  gradient.VisitF32(dtype, [&](size_t first, const char* floats, size_t count) {
    const size_t tile = square == nullptr ? std::min(most, count) : kTile;
    for (size_t done = 0; done < count; done += tile) {
      const char* const some = floats + done * sizeof(float);
      const size_t now = std::min(tile, count - done);
      if (square != nullptr) {
        *square += SquareSum(DType::kF32, some, now)
                       .value_or(std::numeric_limits<double>::infinity());
      }
      update(some, now, From<StateIn>(current, first + done),
             From<StateOut>(next, first + done));
    }
  });
}

// The same with the gradient turned before.
template <class Kernel>
void ForEachTurned(const MomentumTurn& turn, const Payload& gradient,
                   DType dtype, const BlockState& current, BlockState& next,
                   Kernel update, double* square) {
  if (turn.nothing()) {
    return ForEachRun(gradient, dtype, current, next, update, square);
  }
  alignas(64) std::array<float, kTile> turned;
  ForEachRun(
      gradient, dtype, current, next,
      [&](const char* floats, size_t count, StateIn in, StateOut out) {
        TurnGradient(turn.keep, turn.along, floats, in.first, count,
                     turned.data());
        update(reinterpret_cast<const char*>(turned.data()), count, in, out);
      },
      square, kTile);
}

}  // namespace

int UpdateRule::Slots(TensorKind kind) const {
  if (kind != TensorKind::kTrained) return 0;
  return static_cast<int>(OptimizerSlotNames(optimizer_).size());
}

Contribution UpdateRule::Immediate(uint32_t samples, float weight,
                                   double rate) const {
  return {.samples = static_cast<double>(samples),
          .strength = double{weight} * samples / batch_size_,
          .gradient_scale = 1,
          .rate = rate,
          .alone = true};
}

Contribution UpdateRule::Round(uint64_t samples, double rate) const {
  const double gathered = static_cast<double>(samples);
  double strength = 1;
  switch (round_strength_) {
    case RoundStrength::kLinear:
      strength = gathered / batch_size_;
      break;
    case RoundStrength::kSqrt:
      strength = std::sqrt(gathered / batch_size_);
      break;
    case RoundStrength::kConstant:
    case RoundStrength::kAdaScale:
      break;
  }
  return {.samples = gathered,
          .strength = strength,
          .gradient_scale = 1 / gathered,
          .rate = rate};
}

void UpdateRule::Apply(TensorKind kind, const TensorTuning& tuning,
                       const Contribution& contribution, const Payload& payload,
                       DType dtype, const BlockState& current, BlockState& next,
                       double* square) const {
  switch (kind) {
    case TensorKind::kTrained:
      return ApplyGradient(tuning, contribution, payload, dtype, current, next,
                           square);
    case TensorKind::kStatistic:
      return ApplyStatistic(tuning, contribution, payload, dtype, current,
                            next);
    case TensorKind::kAveraged:
      return ApplyAverage(contribution, payload, dtype, current, next);
    case TensorKind::kFrozen:
      break;
  }
  CHECK(kind != TensorKind::kFrozen);
}

void UpdateRule::ApplyGradient(const TensorTuning& tuning,
                               const Contribution& contribution,
                               const Payload& gradient, DType dtype,
                               const BlockState& current, BlockState& next,
                               double* square) const {
  if (optimizer_.kind == OptimizerSpec::Kind::kSgd) {
    ApplySgd(tuning, contribution, gradient, dtype, current, next, square);
  } else {
    ApplyAdam(tuning, contribution, gradient, dtype, current, next, square);
  }
}

MomentumTurn UpdateRule::TurnOf(const Contribution& contribution,
                                const SgdTerms& terms, const Payload& gradient,
                                DType dtype, const BlockState& current) const {
  if (!optimizer_.heloco || !contribution.alone || !(terms.gradient > 0)) {
    return {};
  }
  AlignmentSums sums;
  gradient.VisitF32(dtype, [&](size_t first, const char* floats, size_t count) {
    AddAlignment(floats, current.slot(0) + first, count, sums);
  });
  // The paper's momentum is a mean, and this one a sum with the same memory.
  return TurnTowardsMomentum(
      sums, {.gradient = terms.gradient, .momentum = 1.0 - terms.momentum});
}

void UpdateRule::ApplySgd(const TensorTuning& tuning,
                          const Contribution& contribution,
                          const Payload& gradient, DType dtype,
                          const BlockState& current, BlockState& next,
                          double* square) const {
  const double s = contribution.strength;
  const SgdTerms terms = {
      .gradient = static_cast<float>(s * contribution.gradient_scale),
      .decay = static_cast<float>(s * DecayOf(tuning)),
      .momentum = static_cast<float>(
          contribution.momentum.value_or(optimizer_.momentum)),
      .rate = static_cast<float>(contribution.rate * tuning.rate_factor)};
  const MomentumTurn turn =
      TurnOf(contribution, terms, gradient, dtype, current);
  if (optimizer_.delay > 1) {
    const auto delay = static_cast<uint64_t>(optimizer_.delay);
    const float share = 1.0f / static_cast<float>(delay);
    const bool last = (current.steps() + 1) % delay == 0;
    const auto delayed = last ? DelayedNesterovUpdate : GatherForNesterov;
    return ForEachTurned(
        turn, gradient, dtype, current, next,
        [&](const char* floats, size_t count, StateIn in, StateOut out) {
          delayed(terms, share, floats, count, in, out);
        },
        square);
  }
  const auto kernel = optimizer_.nesterov       ? NesterovUpdate
                      : optimizer_.momentum > 0 ? MomentumUpdate
                                                : SgdUpdate;
  ForEachTurned(
      turn, gradient, dtype, current, next,
      [&](const char* floats, size_t count, StateIn in, StateOut out) {
        kernel(terms, floats, count, in, out);
      },
      square);
}

void UpdateRule::ApplyAdam(const TensorTuning& tuning,
                           const Contribution& contribution,
                           const Payload& gradient, DType dtype,
                           const BlockState& current, BlockState& next,
                           double* square) const {
  const bool decoupled = optimizer_.kind == OptimizerSpec::Kind::kAdamW;
  const double t = static_cast<double>(current.steps()) + 1;
  const double moved =
      contribution.strength * contribution.rate * tuning.rate_factor;
  const double decay = DecayOf(tuning);
  const AdamTerms terms = {
      .gradient = static_cast<float>(contribution.gradient_scale),
      .coupled_decay = static_cast<float>(decoupled ? 0 : decay),
      .beta1 = static_cast<float>(optimizer_.beta1),
      .beta2 = static_cast<float>(optimizer_.beta2),
      .step = static_cast<float>(moved / (1 - std::pow(optimizer_.beta1, t))),
      .correction = static_cast<float>(1 / (1 - std::pow(optimizer_.beta2, t))),
      .epsilon = static_cast<float>(optimizer_.epsilon),
      .keep = static_cast<float>(decoupled ? 1 - moved * decay : 1)};
  ForEachRun(
      gradient, dtype, current, next,
      [&](const char* floats, size_t count, StateIn in, StateOut out) {
        AdamUpdate(terms, floats, count, in, out);
      },
      square);
}

void UpdateRule::ApplyStatistic(const TensorTuning& tuning,
                                const Contribution& contribution,
                                const Payload& x, DType dtype,
                                const BlockState& current,
                                BlockState& next) const {
  const double fraction =
      1 - std::pow(1 - tuning.momentum, contribution.samples / batch_size_);
  ForEachRun(x, dtype, current, next,
             [&](const char* floats, size_t count, StateIn in, StateOut out) {
               StatisticUpdate(static_cast<float>(fraction),
                               static_cast<float>(contribution.gradient_scale),
                               floats, count, in, out);
             });
}

void UpdateRule::ApplyAverage(const Contribution& contribution,
                              const Payload& x, DType dtype,
                              const BlockState& current, BlockState& next) {
  ForEachRun(x, dtype, current, next,
             [&](const char* floats, size_t count, StateIn, StateOut out) {
               ReplaceValues(static_cast<float>(contribution.gradient_scale),
                             floats, count, out);
             });
}

}  // namespace paceline
