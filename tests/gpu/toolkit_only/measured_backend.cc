#include "tests/gpu/toolkit_only/measured_backend.h"

#include <chrono>

#include "common/check.h"

namespace paceline {

std::unique_ptr<RepeatedStep> MeasuredBackend::MakeRepeatedStep() {
  return std::make_unique<PlainStep>();
}

void MeasuredBackend::Operate(const Work& work,
                              std::function<void(Backend&)> run) {
  CHECK(inner_.Synchronize().ok());
  const auto began = std::chrono::steady_clock::now();
  run(inner_);
  CHECK(inner_.Synchronize().ok());
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - began;
  Cost& cost = costs_[work.kind];
  ++cost.calls;
  cost.seconds += took.count();
  cost.operations += static_cast<double>(work.operations);
  cost.bytes += static_cast<double>(work.floats) * sizeof(float);
}

}  // namespace paceline
