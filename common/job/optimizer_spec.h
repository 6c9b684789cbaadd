#ifndef PACELINE_COMMON_JOB_OPTIMIZER_SPEC_H_
#define PACELINE_COMMON_JOB_OPTIMIZER_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Which optimizer a job uses, and its constants. The rate is none of them: it
// comes with each update.
struct OptimizerSpec {
  enum class Kind : uint8_t { kSgd, kAdam, kAdamW };

  Kind kind = Kind::kSgd;
  double momentum = 0;  // kSgd; in [0, 1).
  // kSgd; needs a momentum. That is the total then: what a job's staleness adds
  // to an update's explicit momentum is taken off it.
  bool momentum_by_staleness = false;
  bool nesterov = false;  // kSgd; needs a momentum.
  // kSgd: the momentum takes up the mean of so many updates at once, and only
  // then moves the weights (delayed Nesterov). 1: each. From 1 to 10,000; more
  // than 1 needs nesterov, and a momentum of its own.
  int64_t delay = 1;
  // kSgd: a push that is applied as it arrives is turned towards the momentum
  // before, where it lies too far from it (HeLoCo's correction). Needs a
  // momentum of its own.
  bool heloco = false;
  // Added to the gradient (kSgd, kAdam), or shrinking the weights by itself
  // (kAdamW). In [0, 1].
  double weight_decay = 0;
  // The weight decay leaves the tensors of fewer than two dimensions alone,
  // that is the biases, and the scales and shifts of normalization: common
  // practice, since to pull these to 0 regularizes nothing. Needs a weight
  // decay.
  bool no_decay_of_norms_and_biases = false;
  double beta1 = 0.9;     // kAdam, kAdamW; in [0, 1).
  double beta2 = 0.999;   // kAdam, kAdamW; in [0, 1).
  double epsilon = 1e-8;  // kAdam, kAdamW; in [1e-30, 1].

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

// Reads "sgd:momentum=0.9,nesterov=true,delay=1,weight_decay=5e-4",
// "adam:beta1=0.9,beta2=0.999,epsilon=1e-8,weight_decay=0" or "adamw:" with the
// same keys, all with "no_decay=norms_and_biases"; what is left out keeps its
// default, as in plain "sgd". "momentum=auto" is momentum_by_staleness, at
// "total_momentum=0.9" if that is not given, and "correction=heloco" is heloco.
// INVALID_ARGUMENT, saying what is allowed, for anything else.
absl::StatusOr<OptimizerSpec> ParseOptimizerSpec(absl::string_view text);

// The text that ParseOptimizerSpec() reads back, without defaults.
std::string FormatOptimizerSpec(const OptimizerSpec& spec);

// Returns the total momentum from which staleness takes its part; nothing: the
// momentum does not depend on it.
std::optional<double> TotalMomentum(const OptimizerSpec& spec);

// Returns `text` with the total in place of "momentum=auto" and without a
// delay or a correction, for who takes steps of its own and knows nothing of
// the job's staleness. What ParseOptimizerSpec() refuses stays as it is.
std::string WithoutStaleness(const std::string& text);

// Returns what a checkpoint calls the arrays that the optimizer keeps beside
// the weights, in the order of BlockState's slots: nothing, "momentum" and,
// with a delay, "delayed", or "m" and "v".
std::vector<std::string> OptimizerSlotNames(const OptimizerSpec& spec);

// INVALID_ARGUMENT if a number is outside the range that its field names.
absl::Status ValidateOptimizerSpec(const OptimizerSpec& spec);

// f: how strong a round's update is that gathered x = sum(n) / B batches.
enum class RoundStrength : uint8_t {
  kLinear,    // x: a sample moves the weights equally far in any round.
  kSqrt,      // sqrt(x)
  kConstant,  // 1: as if every round were one batch.
  // As constant, and the rate of each closing has AdaScaleGain().
  kAdaScale,
};

// "linear", "sqrt", "constant", "adascale"; INVALID_ARGUMENT for any other
// text.
absl::StatusOr<RoundStrength> ParseRoundStrength(absl::string_view name);

// The highest learning rate: far above any sensible one, so that products of it
// are still floats.
inline constexpr double kRateMax = 1e6;

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_OPTIMIZER_SPEC_H_
