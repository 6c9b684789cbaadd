#ifndef PACELINE_GPU_CUDA_CUDA_PROBE_H_
#define PACELINE_GPU_CUDA_CUDA_PROBE_H_

#include <cuda_runtime.h>

namespace paceline {

// Runs nothing on the current device: an error if this build has no code for
// it, or it cannot be used by this process.
cudaError_t ProbeKernel();

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_PROBE_H_
