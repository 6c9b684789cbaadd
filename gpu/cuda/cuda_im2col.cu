#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "gpu/cuda/cuda_im2col.h"
#include "gpu/cuda/cuda_launch.cuh"
#include "gpu/divisor.h"

namespace paceline {
namespace {

// Where pixel `i` of some images lies, which stand one behind the other.
struct Pixel {
  int sample;
  int y;
  int x;
};

// Of images of one size.
class PixelsOf {
 public:
  PixelsOf(int64_t height, int64_t width)
      : height_(static_cast<int>(height)),
        width_(static_cast<int>(width)),
        by_height_(height),
        by_width_(width) {}

  __device__ Pixel At(uint32_t i) const {
    const uint32_t line = by_width_.Quotient(i);
    const uint32_t sample = by_height_.Quotient(line);
    return {static_cast<int>(sample), static_cast<int>(line - sample * height_),
            static_cast<int>(i - line * width_)};
  }

 private:
  int height_;
  int width_;
  Divisor by_height_;
  Divisor by_width_;
};

// The dimensions of a convolution as a thread counts with them: in 32 bits.
struct Window {
  explicit Window(const ConvShape& shape)
      : height(static_cast<int>(shape.height)),
        width(static_cast<int>(shape.width)),
        out_height(static_cast<int>(shape.out_height())),
        out_width(static_cast<int>(shape.out_width())),
        kernel(static_cast<int>(shape.kernel)),
        stride(static_cast<int>(shape.stride)),
        pad(static_cast<int>(shape.pad)) {}

  int height, width, out_height, out_width, kernel, stride, pad;
};

// A thread for some columns of a row, whose neighbours read and write side by
// side. Rows are the grid's second dimension: what a row means is worked out
// once. `x` and its channels begin at the first sample.
__global__ void Im2ColKernel(Window window, PixelsOf outputs, int rows,
                             int columns_in_row, int64_t plane, const float* x,
                             float* columns) {
  for (int row = blockIdx.y; row < rows; row += gridDim.y) {
    const int kx = row % window.kernel;
    const int ky = row / window.kernel % window.kernel;
    const float* const from = x + row / (window.kernel * window.kernel) * plane;
    float* const to = columns + int64_t{row} * columns_in_row;
    for (uint32_t i = FirstElement(); i < columns_in_row;
         i += ElementStride()) {
      const Pixel out = outputs.At(i);
      const int iy = out.y * window.stride + ky - window.pad;
      const int ix = out.x * window.stride + kx - window.pad;
      const bool inside =
          iy >= 0 && iy < window.height && ix >= 0 && ix < window.width;
      to[i] = inside
                  ? from[(out.sample * window.height + iy) * window.width + ix]
                  : 0.0f;
    }
  }
}

// The output pixel that saw input pixel `i` at offset `k` of its window; below
// zero or beyond the end if there is none.
__device__ int SeenAt(int i, int k, const Window& window) {
  const int at = i + window.pad - k;
  if (window.stride == 1) return at;
  return at % window.stride == 0 ? at / window.stride : -1;
}

// A thread for some pixels of a channel, which gathers: nothing is added by two
// threads. Channels are the grid's second dimension.
__global__ void Col2ImKernel(Window window, PixelsOf inputs, int channels,
                             int pixels, int columns_in_row, int64_t plane,
                             const float* columns, float* dx) {
  for (int channel = blockIdx.y; channel < channels; channel += gridDim.y) {
    const float* const from = columns + int64_t{channel} * window.kernel *
                                            window.kernel * columns_in_row;
    for (uint32_t i = FirstElement(); i < pixels; i += ElementStride()) {
      const Pixel in = inputs.At(i);
      float sum = 0;
      for (int ky = 0; ky < window.kernel; ++ky) {
        const int y = SeenAt(in.y, ky, window);
        if (y < 0 || y >= window.out_height) continue;
        const float* const line =
            from + int64_t{ky} * window.kernel * columns_in_row +
            (in.sample * window.out_height + y) * window.out_width;
        for (int kx = 0; kx < window.kernel; ++kx) {
          const int x = SeenAt(in.x, kx, window);
          if (x < 0 || x >= window.out_width) continue;
          sum += line[int64_t{kx} * columns_in_row + x];
        }
      }
      dx[channel * plane + i] = sum;
    }
  }
}

// What is counted in 32 bits.
int Counted(int64_t size) {
  CHECK(size <= INT32_MAX);
  return static_cast<int>(size);
}

}  // namespace

void Im2ColOnDevice(const ConvShape& shape, SampleRows samples, const float* x,
                    float* columns, cudaStream_t stream) {
  const int64_t count = samples.end - samples.begin;
  const int64_t image = shape.height * shape.width;
  const int in_row = Counted(count * shape.out_height() * shape.out_width());
  Counted(count * image);
  Im2ColKernel<<<GridOfRows(shape.patch(), in_row), kThreads, 0, stream>>>(
      Window(shape), PixelsOf(shape.out_height(), shape.out_width()),
      Counted(shape.patch()), in_row, shape.batch * image,
      x + samples.begin * image, columns);
}

void Col2ImOnDevice(const ConvShape& shape, SampleRows samples,
                    const float* columns, float* dx, cudaStream_t stream) {
  const int64_t count = samples.end - samples.begin;
  const int64_t image = shape.height * shape.width;
  const int pixels = Counted(count * image);
  Col2ImKernel<<<GridOfRows(shape.in_channels, pixels), kThreads, 0, stream>>>(
      Window(shape), PixelsOf(shape.height, shape.width),
      Counted(shape.in_channels), pixels,
      Counted(count * shape.out_height() * shape.out_width()),
      shape.batch * image, columns, dx + samples.begin * image);
}

}  // namespace paceline
