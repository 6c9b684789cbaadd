#include "common/check.h"
#include "gpu/cuda/cuda_activate.cuh"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

bool IsIdentity(const ShortcutShape& shape) {
  return shape.stride == 1 && shape.in_channels == shape.out_channels;
}

// The pairs that a shortcut joins, one for each pixel of y but those of the
// added channels. No pixel of x or y is in two of them.
struct Joined {
  int64_t in;
  int64_t out;
};

__device__ Joined JoinedAt(const ShortcutShape& shape, int64_t i) {
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  const int64_t x = i % out_width, y = i / out_width % out_height;
  const int64_t plane = i / (out_width * out_height);
  const int64_t added =
      shape.first_channel() * shape.batch * out_height * out_width;
  return {(plane * shape.height + y * shape.stride) * shape.width +
              x * shape.stride,
          added + i};
}

constexpr int64_t PairsOf(const ShortcutShape& shape) {
  return shape.in_channels * shape.batch * shape.out_height() *
         shape.out_width();
}

// All of y, the added channels too: the activation is theirs as well.
__global__ void ShortcutForwardKernel(ShortcutShape shape, const float* x,
                                      float* y) {
  const int64_t pairs = PairsOf(shape);
  const int64_t first = JoinedAt(shape, 0).out;
  const int64_t size = shape.output_size();
  for (int64_t out = FirstElement(); out < size; out += ElementStride()) {
    const int64_t i = out - first;
    const float sum =
        i >= 0 && i < pairs ? y[out] + x[JoinedAt(shape, i).in] : y[out];
    y[out] = Activate(shape.activation, sum);
  }
}

__global__ void IdentityKernel(Activation activation, int64_t size,
                               const float* x, float* y) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    y[i] = Activate(activation, y[i] + x[i]);
  }
}

__global__ void ShortcutBackwardKernel(ShortcutShape shape, const float* dy,
                                       float* dx) {
  const int64_t pairs = PairsOf(shape);
  for (int64_t i = FirstElement(); i < pairs; i += ElementStride()) {
    const Joined joined = JoinedAt(shape, i);
    dx[joined.in] += dy[joined.out];
  }
}

}  // namespace

void CudaBackend::AddShortcut(const ShortcutShape& shape, DeviceView x,
                              DeviceSpan y) {
  CHECK(x.size == shape.input_size() && y.size == shape.output_size());
  CHECK(shape.in_channels <= shape.out_channels);
  if (IsIdentity(shape)) {
    IdentityKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(
        shape.activation, y.size, x.data, y.data);
  } else {
    ShortcutForwardKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(
        shape, x.data, y.data);
  }
  Launched("shortcut");
}

void CudaBackend::AddShortcutGradient(const ShortcutShape& shape, DeviceView dy,
                                      DeviceSpan dx) {
  CHECK(dx.size == shape.input_size() && dy.size == shape.output_size());
  CHECK(shape.in_channels <= shape.out_channels);
  if (IsIdentity(shape)) return Axpy(1, dy, dx);
  ShortcutBackwardKernel<<<BlocksFor(PairsOf(shape)), kThreads, 0, Stream()>>>(
      shape, dy.data, dx.data);
  Launched("shortcut gradient");
}

}  // namespace paceline
