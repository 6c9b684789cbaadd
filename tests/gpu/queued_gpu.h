#ifndef PACELINE_TESTS_GPU_QUEUED_GPU_H_
#define PACELINE_TESTS_GPU_QUEUED_GPU_H_

#include "tests/gpu/queued_backend.h"

namespace paceline {

// In a test that is linked with queued_gpu.cc, which stands in for
// gpu/cuda_loader.cc: there is one GPU, and every MakeBackend("cuda") is a
// QueuedBackend with these manners and a seed of its own, or fails with
// `found`, as finding the GPU does. Up to the next call.
void SetQueuedGpu(const QueuedBackend::Manners& manners,
                  const absl::Status& found = absl::OkStatus());

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_QUEUED_GPU_H_
