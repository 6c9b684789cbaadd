#include <algorithm>

#include "common/check.h"
#include "gpu/cpu/cpu_backend.h"

namespace paceline {
namespace {

// The shape of nearly every pool in our models, worth loops of its own that
// the compiler can turn into vectors.
bool IsHalving(const PoolShape& shape) {
  return shape.window == 2 && shape.stride == 2 && shape.height % 2 == 0 &&
         shape.width % 2 == 0;
}

void HalveByMax(const PoolShape& shape, const float* x, float* y) {
  const int64_t width = shape.width, out_width = width / 2;
  const int64_t out_rows = shape.planes * (shape.height / 2);
  for (int64_t row = 0; row < out_rows; ++row) {
    const float* upper = x + 2 * row * width;
    const float* lower = upper + width;
    float* out = y + row * out_width;
    for (int64_t i = 0; i < out_width; ++i) {
      const float a = upper[2 * i], b = upper[2 * i + 1];
      const float c = lower[2 * i], d = lower[2 * i + 1];
      const float above = b > a ? b : a, below = d > c ? d : c;
      out[i] = below > above ? below : above;
    }
  }
}

void HalveByMaxBackward(const PoolShape& shape, const float* x, const float* dy,
                        float* dx) {
  const int64_t width = shape.width, out_width = width / 2;
  const int64_t out_rows = shape.planes * (shape.height / 2);
  for (int64_t row = 0; row < out_rows; ++row) {
    const float* __restrict__ upper = x + 2 * row * width;
    const float* __restrict__ lower = upper + width;
    const float* __restrict__ gradient = dy + row * out_width;
    float* __restrict__ dupper = dx + 2 * row * width;
    float* __restrict__ dlower = dupper + width;
    for (int64_t i = 0; i < out_width; ++i) {
      const float a = upper[2 * i], b = upper[2 * i + 1];
      const float c = lower[2 * i], d = lower[2 * i + 1];
      const float g = gradient[i];
      const float above = b > a ? b : a, below = d > c ? d : c;
      // Selections instead of branches, or nothing would be a vector.
      const float g_above = below > above ? 0.0f : g;
      const float g_below = below > above ? g : 0.0f;
      dupper[2 * i] = b > a ? 0.0f : g_above;
      dupper[2 * i + 1] = b > a ? g_above : 0.0f;
      dlower[2 * i] = d > c ? 0.0f : g_below;
      dlower[2 * i + 1] = d > c ? g_below : 0.0f;
    }
  }
}

// Calls body(index into y, index of the window's first pixel in x).
template <class Body>
void ForEachWindow(const PoolShape& shape, const Body& body) {
  int64_t out = 0;
  for (int64_t plane = 0; plane < shape.planes; ++plane) {
    for (int64_t y = 0; y < shape.out_height(); ++y) {
      for (int64_t x = 0; x < shape.out_width(); ++x) {
        body(out++, (plane * shape.height + y * shape.stride) * shape.width +
                        x * shape.stride);
      }
    }
  }
}

// The index of the window's first largest pixel.
int64_t Largest(const PoolShape& shape, const float* x, int64_t first) {
  int64_t best = first;
  for (int64_t y = 0; y < shape.window; ++y) {
    for (int64_t i = 0; i < shape.window; ++i) {
      const int64_t at = first + y * shape.width + i;
      if (x[at] > x[best]) best = at;
    }
  }
  return best;
}

}  // namespace

void CpuBackend::MaxPoolForward(const PoolShape& shape, DeviceView x,
                                DeviceSpan y) {
  CHECK(x.size == shape.input_size() && y.size == shape.output_size());
  if (IsHalving(shape)) return HalveByMax(shape, x.data, y.data);
  ForEachWindow(shape, [&](int64_t out, int64_t first) {
    y.data[out] = x.data[Largest(shape, x.data, first)];
  });
}

void CpuBackend::MaxPoolBackward(const PoolShape& shape, DeviceView x,
                                 DeviceView dy, DeviceSpan dx) {
  CHECK(x.size == shape.input_size() && dx.size == x.size);
  CHECK(dy.size == shape.output_size());
  if (IsHalving(shape)) {
    return HalveByMaxBackward(shape, x.data, dy.data, dx.data);
  }
  Fill(0, dx);
  ForEachWindow(shape, [&](int64_t out, int64_t first) {
    dx.data[Largest(shape, x.data, first)] += dy.data[out];
  });
}

void CpuBackend::AvgPoolForward(const PoolShape& shape, DeviceView x,
                                DeviceSpan y) {
  CHECK(x.size == shape.input_size() && y.size == shape.output_size());
  const float share = 1.0f / static_cast<float>(shape.window * shape.window);
  ForEachWindow(shape, [&](int64_t out, int64_t first) {
    float sum = 0;
    for (int64_t row = 0; row < shape.window; ++row) {
      const float* at = x.data + first + row * shape.width;
      for (int64_t i = 0; i < shape.window; ++i) sum += at[i];
    }
    y.data[out] = sum * share;
  });
}

void CpuBackend::AvgPoolBackward(const PoolShape& shape, DeviceView dy,
                                 DeviceSpan dx) {
  CHECK(dx.size == shape.input_size() && dy.size == shape.output_size());
  const float share = 1.0f / static_cast<float>(shape.window * shape.window);
  Fill(0, dx);
  ForEachWindow(shape, [&](int64_t out, int64_t first) {
    const float gradient = dy.data[out] * share;
    for (int64_t row = 0; row < shape.window; ++row) {
      float* at = dx.data + first + row * shape.width;
      for (int64_t i = 0; i < shape.window; ++i) at[i] += gradient;
    }
  });
}

}  // namespace paceline
