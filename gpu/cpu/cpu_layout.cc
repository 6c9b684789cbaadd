#include <algorithm>

#include "common/check.h"
#include "gpu/cpu/activate.h"
#include "gpu/cpu/cpu_backend.h"

// Operations that move data: transpositions and shortcuts.

namespace paceline {
namespace {

// Calls body(index into x, index into y) for each pair that a shortcut joins.
template <class Body>
void ForEachJoined(const ShortcutShape& shape, const Body& body) {
  const int64_t planes = shape.in_channels * shape.batch;
  const int64_t out_height = shape.out_height(), out_width = shape.out_width();
  int64_t out = shape.first_channel() * shape.batch * out_height * out_width;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t y = 0; y < out_height; ++y) {
      const int64_t in =
          (plane * shape.height + y * shape.stride) * shape.width;
      for (int64_t x = 0; x < out_width; ++x) {
        body(in + x * shape.stride, out + x);
      }
      out += out_width;
    }
  }
}

bool IsIdentity(const ShortcutShape& shape) {
  return shape.stride == 1 && shape.in_channels == shape.out_channels;
}

}  // namespace

void CpuBackend::SwapLeading(int64_t first, int64_t second, int64_t inner,
                             DeviceView x, DeviceSpan y) {
  CHECK(x.size == first * second * inner && y.size == x.size);
  for (int64_t b = 0; b < second; ++b) {
    for (int64_t a = 0; a < first; ++a) {
      std::copy_n(x.data + (a * second + b) * inner, inner,
                  y.data + (b * first + a) * inner);
    }
  }
}

void CpuBackend::AddShortcut(const ShortcutShape& shape, DeviceView x,
                             DeviceSpan y) {
  CHECK(x.size == shape.input_size() && y.size == shape.output_size());
  CHECK(shape.in_channels <= shape.out_channels);
  if (IsIdentity(shape)) {
    WithActivation(shape.activation, [&]<Activation activation>() {
      for (int64_t i = 0; i < x.size; ++i) {
        y.data[i] = Activate<activation>(y.data[i] + x.data[i]);
      }
    });
    return;
  }
  ForEachJoined(shape,
                [&](int64_t in, int64_t out) { y.data[out] += x.data[in]; });
  if (shape.activation == Activation::kRelu) ReluForward(y, y);
}

void CpuBackend::AddShortcutGradient(const ShortcutShape& shape, DeviceView dy,
                                     DeviceSpan dx) {
  CHECK(dx.size == shape.input_size() && dy.size == shape.output_size());
  CHECK(shape.in_channels <= shape.out_channels);
  if (IsIdentity(shape)) return Axpy(1, dy, dx);
  ForEachJoined(shape,
                [&](int64_t in, int64_t out) { dx.data[in] += dy.data[out]; });
}

}  // namespace paceline
