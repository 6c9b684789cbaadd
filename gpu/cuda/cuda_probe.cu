#include "gpu/cuda/cuda_probe.h"

namespace paceline {
namespace {

__global__ void Nothing() {}

}  // namespace

cudaError_t ProbeKernel() {
  Nothing<<<1, 1>>>();
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    return error;
  }
  return cudaDeviceSynchronize();
}

}  // namespace paceline
