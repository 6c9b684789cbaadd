#include "gpu/cuda/cuda_im2col.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

// A thread for each element of the columns; neighbours write side by side.
__global__ void Im2ColKernel(ConvShape shape, SampleRows samples,
                             const float* x, float* columns) {
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  const int64_t width = (samples.end - samples.begin) * out_height * out_width;
  const int64_t size = shape.patch() * width;
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const int64_t row = i / width, column = i % width;
    const int64_t kx = row % shape.kernel;
    const int64_t ky = row / shape.kernel % shape.kernel;
    const int64_t channel = row / (shape.kernel * shape.kernel);
    const int64_t ox = column % out_width;
    const int64_t oy = column / out_width % out_height;
    const int64_t sample = samples.begin + column / (out_width * out_height);
    const int64_t iy = oy * shape.stride + ky - shape.pad;
    const int64_t ix = ox * shape.stride + kx - shape.pad;
    const bool inside =
        iy >= 0 && iy < shape.height && ix >= 0 && ix < shape.width;
    columns[i] =
        inside ? x[((channel * shape.batch + sample) * shape.height + iy) *
                       shape.width +
                   ix]
               : 0.0f;
  }
}

// A thread for each pixel, which gathers: nothing is added by two threads.
__global__ void Col2ImKernel(ConvShape shape, SampleRows samples,
                             const float* columns, float* dx) {
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  const int64_t count = samples.end - samples.begin;
  const int64_t width = count * out_height * out_width;
  const int64_t size = shape.in_channels * count * shape.height * shape.width;
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const int64_t ix = i % shape.width;
    const int64_t iy = i / shape.width % shape.height;
    const int64_t sample = i / (shape.width * shape.height) % count;
    const int64_t channel = i / (shape.width * shape.height * count);
    float sum = 0;
    for (int64_t ky = 0; ky < shape.kernel; ++ky) {
      const int64_t y = iy + shape.pad - ky;
      if (y < 0 || y % shape.stride != 0 || y / shape.stride >= out_height) {
        continue;
      }
      for (int64_t kx = 0; kx < shape.kernel; ++kx) {
        const int64_t x = ix + shape.pad - kx;
        if (x < 0 || x % shape.stride != 0 || x / shape.stride >= out_width) {
          continue;
        }
        const int64_t row = (channel * shape.kernel + ky) * shape.kernel + kx;
        const int64_t column =
            (sample * out_height + y / shape.stride) * out_width +
            x / shape.stride;
        sum += columns[row * width + column];
      }
    }
    dx[((channel * shape.batch + samples.begin + sample) * shape.height + iy) *
           shape.width +
       ix] = sum;
  }
}

}  // namespace

void Im2ColOnDevice(const ConvShape& shape, SampleRows samples, const float* x,
                    float* columns, cudaStream_t stream) {
  const int64_t size = shape.patch() * (samples.end - samples.begin) *
                       shape.out_height() * shape.out_width();
  Im2ColKernel<<<BlocksFor(size), kThreads, 0, stream>>>(shape, samples, x,
                                                         columns);
}

void Col2ImOnDevice(const ConvShape& shape, SampleRows samples,
                    const float* columns, float* dx, cudaStream_t stream) {
  const int64_t size = shape.in_channels * (samples.end - samples.begin) *
                       shape.height * shape.width;
  Col2ImKernel<<<BlocksFor(size), kThreads, 0, stream>>>(shape, samples,
                                                         columns, dx);
}

}  // namespace paceline
