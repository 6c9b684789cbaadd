#include <algorithm>

#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_im2col.h"

// Convolutions as matrix products over columns of patches (Chellapilla, Puri
// and Simard, "High Performance Convolutional Neural Networks for Document
// Processing", 2006), some samples at a time where all of them would take too
// much memory. A convolution of one pixel needs no columns: they are x.

namespace paceline {
namespace {

// 256 MiB of columns.
constexpr int64_t kColumnsMax = int64_t{64} << 20;

bool IsPointwise(const ConvShape& shape) {
  return shape.kernel == 1 && shape.stride == 1 && shape.pad == 0;
}

int64_t Pixels(const ConvShape& shape) {
  return shape.out_height() * shape.out_width();
}

int64_t SamplesPerChunk(const ConvShape& shape) {
  const int64_t samples = kColumnsMax / (shape.patch() * Pixels(shape));
  return std::clamp<int64_t>(samples, 1, std::max<int64_t>(shape.batch, 1));
}

// Calls body(samples, first column, number of columns) chunk by chunk.
template <class Body>
void ForEachChunk(const ConvShape& shape, const Body& body) {
  CHECK(shape.out_height() > 0 && shape.out_width() > 0);
  const int64_t step =
      IsPointwise(shape) ? shape.batch : SamplesPerChunk(shape);
  for (int64_t begin = 0; begin < shape.batch; begin += step) {
    const SampleRows samples{begin, std::min(begin + step, shape.batch)};
    body(samples, begin * Pixels(shape),
         (samples.end - samples.begin) * Pixels(shape));
  }
}

}  // namespace

void CudaBackend::ConvForward(const ConvShape& shape, DeviceView x,
                              DeviceView weights, DeviceView bias,
                              DeviceSpan y) {
  CHECK(x.size == shape.input_size() && y.size == shape.output_size());
  CHECK(weights.size == shape.weight_size());
  CHECK(bias.empty() || bias.size == shape.out_channels);
  const int64_t patch = shape.patch(), plane = shape.out_plane();
  ForEachChunk(shape, [&](SampleRows samples, int64_t at, int64_t count) {
    const float* columns = x.data;
    if (!IsPointwise(shape)) {
      float* const scratch = Scratch(patch * count);
      if (scratch == nullptr) return;
      Im2ColOnDevice(shape, samples, x.data, scratch, Stream());
      Launched("im2col");
      columns = scratch;
    }
    Multiply({.m = shape.out_channels, .n = count, .k = patch}, 1,
             {weights.data, patch}, {columns, count}, 0, y.data + at, plane);
  });
  if (!bias.empty()) AddBias({1, shape.out_channels, plane}, bias, y);
}

void CudaBackend::ConvBackwardWeights(const ConvShape& shape, DeviceView x,
                                      DeviceView dy, float beta,
                                      DeviceSpan dweights) {
  CHECK(x.size == shape.input_size() && dy.size == shape.output_size());
  CHECK(dweights.size == shape.weight_size());
  const int64_t patch = shape.patch(), plane = shape.out_plane();
  if (shape.batch == 0 && beta == 0) Fill(0, dweights);
  ForEachChunk(shape, [&](SampleRows samples, int64_t at, int64_t count) {
    const float* columns = x.data;
    if (!IsPointwise(shape)) {
      float* const scratch = Scratch(patch * count);
      if (scratch == nullptr) return;
      Im2ColOnDevice(shape, samples, x.data, scratch, Stream());
      Launched("im2col");
      columns = scratch;
    }
    Multiply(
        {.transpose_b = true, .m = shape.out_channels, .n = patch, .k = count},
        1, {dy.data + at, plane}, {columns, count},
        samples.begin == 0 ? beta : 1, dweights.data, patch);
  });
}

void CudaBackend::ConvBackwardData(const ConvShape& shape, DeviceView weights,
                                   DeviceView dy, DeviceSpan dx) {
  CHECK(dx.size == shape.input_size() && dy.size == shape.output_size());
  CHECK(weights.size == shape.weight_size());
  const int64_t patch = shape.patch(), plane = shape.out_plane();
  ForEachChunk(shape, [&](SampleRows samples, int64_t at, int64_t count) {
    float* const columns =
        IsPointwise(shape) ? dx.data : Scratch(patch * count);
    if (columns == nullptr) return;
    Multiply(
        {.transpose_a = true, .m = patch, .n = count, .k = shape.out_channels},
        1, {weights.data, patch}, {dy.data + at, plane}, 0, columns, count);
    if (IsPointwise(shape)) return;
    Col2ImOnDevice(shape, samples, columns, dx.data, Stream());
    Launched("col2im");
  });
}

}  // namespace paceline
