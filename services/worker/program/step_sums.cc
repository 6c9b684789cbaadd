#include "services/worker/program/step_sums.h"

#include <cstddef>

namespace paceline {
namespace {

bool Summed(const ProgramTensor& tensor) {
  return tensor.pushed() && tensor.kind != TensorKind::kAveraged;
}

}  // namespace

void StepSums::Add(const ProgramArenas& arenas, uint32_t samples) {
  sums_.resize(tensors_.size());
  const auto weight = static_cast<float>(samples);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!Summed(tensors_[i])) continue;
    std::vector<float>& sum = sums_[i];
    const size_t size = static_cast<size_t>(tensors_[i].size);
    mean_.resize(size);
    ConvertToF32(wire_, arenas.gradients(i).data(), size, mean_.data());
    if (samples_ == 0) sum.assign(size, 0);
    for (size_t j = 0; j < size; ++j) sum[j] += weight * mean_[j];
  }
  samples_ += samples;
}

void StepSums::Average(const ProgramArenas& arenas, uint32_t last) {
  Add(arenas, last);
  const float share = 1 / static_cast<float>(samples_);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!Summed(tensors_[i])) continue;
    for (float& value : sums_[i]) value *= share;
    ConvertFromF32(wire_, sums_[i].data(), sums_[i].size(),
                   arenas.mutable_gradients(i).data());
  }
}

}  // namespace paceline
