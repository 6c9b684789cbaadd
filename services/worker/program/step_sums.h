#ifndef PACELINE_SERVICES_WORKER_PROGRAM_STEP_SUMS_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_STEP_SUMS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/tensor/dtype.h"
#include "services/worker/program/program_arenas.h"
#include "services/worker/program/program_messages.h"

namespace paceline {

// The gradient of an iteration that a program computes in several steps, each
// of which leaves the mean over its own samples in the arena: this adds them
// up, in fp32. Of an averaged tensor the last step's value counts.
// Thread-compatible.
class StepSums {
 public:
  // `tensors` outlives it; the arena's gradients are of type `wire`.
  StepSums(absl::Span<const ProgramTensor> tensors, DType wire)
      : tensors_(tensors), wire_(wire) {}

  // An iteration begins.
  void Clear() { samples_ = 0; }
  // Takes the arena's, the mean over `samples`.
  void Add(const ProgramArenas& arenas, uint32_t samples);
  // Samples that were added.
  uint32_t samples() const { return samples_; }
  // The arena's, the mean over `last` samples more, become the mean over all.
  void Average(const ProgramArenas& arenas, uint32_t last);

 private:
  absl::Span<const ProgramTensor> tensors_;
  const DType wire_;
  uint32_t samples_ = 0;
  std::vector<std::vector<float>> sums_;  // By tensor.
  std::vector<float> mean_;               // Scratch.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_STEP_SUMS_H_
