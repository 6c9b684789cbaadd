#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

// Both round to nearest, ties to even, as the wire wants it.
__device__ __nv_bfloat16 Rounded(float value, __nv_bfloat16 /*as*/) {
  return __float2bfloat16_rn(value);
}
__device__ __half Rounded(float value, __half /*as*/) {
  return __float2half_rn(value);
}

template <class Element>
__global__ void PackKernel(int64_t size, const float* x, Element* packed) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    packed[i] = Rounded(x[i], Element());
  }
}

}  // namespace

void CudaBackend::Pack(DType dtype, DeviceView x, DeviceSpan packed) {
  CHECK(packed.size == PackedSize(dtype, x.size));
  switch (dtype) {
    case DType::kF32:
      return Copy(x, packed);
    case DType::kBF16:
      PackKernel<<<BlocksFor(x.size), kThreads, 0, Stream()>>>(
          x.size, x.data, reinterpret_cast<__nv_bfloat16*>(packed.data));
      break;
    case DType::kF16:
      PackKernel<<<BlocksFor(x.size), kThreads, 0, Stream()>>>(
          x.size, x.data, reinterpret_cast<__half*>(packed.data));
      break;
    case DType::kInt8:
      CHECK(dtype != DType::kInt8);
  }
  Launched("pack");
}

}  // namespace paceline
