#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"
#include "gpu/cuda/cuda_windows.cuh"

namespace paceline {
namespace {

// The index of the window's first largest pixel, row by row.
__device__ int64_t Largest(const PoolShape& shape, const float* x,
                           int64_t first) {
  int64_t best = first;
  for (int64_t y = 0; y < shape.window; ++y) {
    for (int64_t i = 0; i < shape.window; ++i) {
      const int64_t at = first + y * shape.width + i;
      if (x[at] > x[best]) best = at;
    }
  }
  return best;
}

__global__ void MaxPoolForwardKernel(PoolShape shape, const float* x,
                                     float* y) {
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  const int64_t size = shape.output_size();
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const int64_t ox = i % out_width, oy = i / out_width % out_height;
    const int64_t plane = i / (out_width * out_height);
    const int64_t first =
        (plane * shape.height + oy * shape.stride) * shape.width +
        ox * shape.stride;
    y[i] = x[Largest(shape, x, first)];
  }
}

// A thread for each pixel, which asks the windows that see it.
__global__ void MaxPoolBackwardKernel(PoolShape shape, const float* x,
                                      const float* dy, float* dx) {
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  const int64_t size = shape.input_size();
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const int64_t ix = i % shape.width, iy = i / shape.width % shape.height;
    const int64_t plane = i / (shape.width * shape.height);
    const WindowRange rows = WindowsOf(iy, shape, out_height);
    const WindowRange columns = WindowsOf(ix, shape, out_width);
    float sum = 0;
    for (int64_t oy = rows.begin; oy < rows.end; ++oy) {
      for (int64_t ox = columns.begin; ox < columns.end; ++ox) {
        const int64_t first =
            (plane * shape.height + oy * shape.stride) * shape.width +
            ox * shape.stride;
        if (Largest(shape, x, first) == i) {
          sum += dy[(plane * out_height + oy) * out_width + ox];
        }
      }
    }
    dx[i] = sum;
  }
}

}  // namespace

void CudaBackend::MaxPoolForward(const PoolShape& shape, DeviceView x,
                                 DeviceSpan y) {
  CHECK(x.size == shape.input_size() && y.size == shape.output_size());
  MaxPoolForwardKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(
      shape, x.data, y.data);
  Launched("max pool");
}

void CudaBackend::MaxPoolBackward(const PoolShape& shape, DeviceView x,
                                  DeviceView dy, DeviceSpan dx) {
  CHECK(x.size == shape.input_size() && dx.size == x.size);
  CHECK(dy.size == shape.output_size());
  MaxPoolBackwardKernel<<<BlocksFor(dx.size), kThreads, 0, Stream()>>>(
      shape, x.data, dy.data, dx.data);
  Launched("max pool backward");
}

}  // namespace paceline
