#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

__global__ void FillKernel(float value, int64_t size, float* y) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    y[i] = value;
  }
}

__global__ void AxpyKernel(float alpha, int64_t size, const float* x,
                           float* y) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    y[i] += alpha * x[i];
  }
}

__global__ void ScaleKernel(float alpha, int64_t size, float* y) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    y[i] *= alpha;
  }
}

}  // namespace

void CudaBackend::Fill(float value, DeviceSpan y) {
  FillKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(value, y.size,
                                                           y.data);
  Launched("fill");
}

void CudaBackend::Axpy(float alpha, DeviceView x, DeviceSpan y) {
  CHECK(x.size == y.size);
  AxpyKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(alpha, y.size,
                                                           x.data, y.data);
  Launched("axpy");
}

void CudaBackend::Scale(float alpha, DeviceSpan y) {
  ScaleKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(alpha, y.size,
                                                            y.data);
  Launched("scale");
}

}  // namespace paceline
