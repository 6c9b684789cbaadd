#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"
#include "gpu/cuda/cuda_windows.cuh"

namespace paceline {
namespace {

__global__ void AvgPoolForwardKernel(PoolShape shape, const float* x,
                                     float* y) {
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  const int64_t size = shape.output_size();
  const float share = 1.0f / static_cast<float>(shape.window * shape.window);
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const int64_t ox = i % out_width, oy = i / out_width % out_height;
    const int64_t plane = i / (out_width * out_height);
    const float* const window =
        x + (plane * shape.height + oy * shape.stride) * shape.width +
        ox * shape.stride;
    float sum = 0;
    for (int64_t row = 0; row < shape.window; ++row) {
      for (int64_t column = 0; column < shape.window; ++column) {
        sum += window[row * shape.width + column];
      }
    }
    y[i] = sum * share;
  }
}

// A thread for each pixel, which gathers from the windows that see it.
__global__ void AvgPoolBackwardKernel(PoolShape shape, const float* dy,
                                      float* dx) {
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  const int64_t size = shape.input_size();
  const float share = 1.0f / static_cast<float>(shape.window * shape.window);
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const int64_t ix = i % shape.width, iy = i / shape.width % shape.height;
    const int64_t plane = i / (shape.width * shape.height);
    const WindowRange rows = WindowsOf(iy, shape, out_height);
    const WindowRange columns = WindowsOf(ix, shape, out_width);
    float sum = 0;
    for (int64_t oy = rows.begin; oy < rows.end; ++oy) {
      for (int64_t ox = columns.begin; ox < columns.end; ++ox) {
        sum += dy[(plane * out_height + oy) * out_width + ox];
      }
    }
    dx[i] = sum * share;
  }
}

}  // namespace

void CudaBackend::AvgPoolForward(const PoolShape& shape, DeviceView x,
                                 DeviceSpan y) {
  CHECK(x.size == shape.input_size() && y.size == shape.output_size());
  AvgPoolForwardKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(
      shape, x.data, y.data);
  Launched("average pool");
}

void CudaBackend::AvgPoolBackward(const PoolShape& shape, DeviceView dy,
                                  DeviceSpan dx) {
  CHECK(dx.size == shape.input_size() && dy.size == shape.output_size());
  AvgPoolBackwardKernel<<<BlocksFor(dx.size), kThreads, 0, Stream()>>>(
      shape, dy.data, dx.data);
  Launched("average pool backward");
}

}  // namespace paceline
