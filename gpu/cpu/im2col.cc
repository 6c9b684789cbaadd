#include "gpu/cpu/im2col.h"

#include <algorithm>
#include <cstring>

namespace paceline {
namespace {

// Where one column of the kernel meets the image: output pixels [begin, end)
// of a row see the input pixels from `first` on, `stride` apart; the others
// see the padding.
struct Overlap {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first = 0;

  int64_t count() const { return end - begin; }
};

Overlap OverlapOf(const ConvShape& shape, int64_t kernel_x) {
  const int64_t shift = kernel_x - shape.pad;  // Input x of output x 0.
  const int64_t room = shape.width - shift;    // Input pixels from x 0 on.
  const int64_t begin =
      shift >= 0 ? 0 : (-shift + shape.stride - 1) / shape.stride;
  const int64_t end =
      room <= 0 ? 0
                : std::min(shape.out_width(), (room - 1) / shape.stride + 1);
  if (begin >= end) return {};
  return {begin, end, begin * shape.stride + shift};
}

// Successive output rows of one sample that see image rows from `image` on,
// or only padding if `inside` is false.
struct Run {
  int64_t rows = 0;
  bool inside = false;
  int64_t image = 0;  // Pixels from the channel's first.
};

// The longest run from output row `row` on, not beyond `end`. kernel_y decides
// what is padding.
Run RunFrom(const ConvShape& shape, int64_t kernel_y, int64_t row,
            int64_t end) {
  const int64_t sample = row / shape.out_height();
  const int64_t out_y = row % shape.out_height();
  const int64_t left = std::min(shape.out_height() - out_y, end - row);
  const int64_t y = out_y * shape.stride + kernel_y - shape.pad;
  if (y < 0) {
    return {.rows = std::min(left, (-y + shape.stride - 1) / shape.stride)};
  }
  if (y >= shape.height) return {.rows = left};
  const int64_t below = (shape.height - 1 - y) / shape.stride + 1;
  return {.rows = std::min(left, below),
          .inside = true,
          .image = (sample * shape.height + y) * shape.width};
}

// Rows are often shorter than the call of a library's copy is long.
inline void CopyRow(const float* from, int64_t count, float* to) {
  constexpr int64_t kStep = 8;
  if (count < kStep) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i + kStep <= count; i += kStep) {
    std::memcpy(to + i, from + i, kStep * sizeof(float));
  }
  // The rest overlaps what is there already.
  std::memcpy(to + count - kStep, from + count - kStep, kStep * sizeof(float));
}

void ZeroEdges(const Overlap& overlap, int64_t rows, int64_t width, float* to) {
  for (int64_t row = 0; row < rows; ++row, to += width) {
    for (int64_t i = 0; i < overlap.begin; ++i) to[i] = 0;
    for (int64_t i = overlap.end; i < width; ++i) to[i] = 0;
  }
}

// Output rows as wide as the input's: then the pixels that a run of rows sees
// lie in the image as in the columns, without a gap, but for the edges.
bool IsSeamless(const ConvShape& shape) {
  return shape.stride == 1 && shape.out_width() == shape.width;
}

void GatherRun(const ConvShape& shape, const Overlap& overlap, int64_t rows,
               const float* image, float* to) {
  const int64_t width = shape.out_width();
  if (overlap.count() > 0 && IsSeamless(shape)) {
    std::copy_n(image + overlap.first, (rows - 1) * width + overlap.count(),
                to + overlap.begin);
  } else {
    for (int64_t row = 0; row < rows; ++row) {
      const float* from =
          image + row * shape.stride * shape.width + overlap.first;
      float* inner = to + row * width + overlap.begin;
      if (shape.stride == 1) {
        CopyRow(from, overlap.count(), inner);
      } else {
        for (int64_t i = 0; i < overlap.count(); ++i) {
          inner[i] = from[i * shape.stride];
        }
      }
    }
  }
  ZeroEdges(overlap, rows, width, to);
}

void ScatterRun(const ConvShape& shape, const Overlap& overlap, int64_t rows,
                float* from, float* image) {
  const int64_t width = shape.out_width();
  if (overlap.count() > 0 && IsSeamless(shape)) {
    // What the edges hold belongs to padding, but lies over the next row.
    ZeroEdges(overlap, rows, width, from);
    const int64_t count = (rows - 1) * width + overlap.count();
    float* __restrict__ to = image + overlap.first;
    const float* __restrict__ inner = from + overlap.begin;
    for (int64_t i = 0; i < count; ++i) to[i] += inner[i];
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    float* __restrict__ to =
        image + row * shape.stride * shape.width + overlap.first;
    const float* __restrict__ inner = from + row * width + overlap.begin;
    if (shape.stride == 1) {
      for (int64_t i = 0; i < overlap.count(); ++i) to[i] += inner[i];
    } else {
      for (int64_t i = 0; i < overlap.count(); ++i) {
        to[i * shape.stride] += inner[i];
      }
    }
  }
}

// Calls body(first pixel of the channel, overlap, run, first column of the
// run) for every element of the patch and every run of rows.
template <class Body>
void ForEachRun(const ConvShape& shape, RowRange rows, const Body& body) {
  const int64_t channel_size = shape.batch * shape.height * shape.width;
  int64_t at = 0;
  for (int64_t c = 0; c < shape.in_channels; ++c) {
    for (int64_t ky = 0; ky < shape.kernel; ++ky) {
      for (int64_t kx = 0; kx < shape.kernel; ++kx) {
        const Overlap overlap = OverlapOf(shape, kx);
        for (int64_t row = rows.begin; row < rows.end;) {
          const Run run = RunFrom(shape, ky, row, rows.end);
          body(c * channel_size, overlap, run, at);
          at += run.rows * shape.out_width();
          row += run.rows;
        }
      }
    }
  }
}

}  // namespace

void Im2Col(const ConvShape& shape, RowRange rows, const float* x,
            float* columns) {
  ForEachRun(
      shape, rows,
      [&](int64_t channel, const Overlap& overlap, const Run& run, int64_t at) {
        if (run.inside) {
          GatherRun(shape, overlap, run.rows, x + channel + run.image,
                    columns + at);
        } else {
          std::fill_n(columns + at, run.rows * shape.out_width(), 0.0f);
        }
      });
}

void Col2Im(const ConvShape& shape, RowRange rows, float* columns, float* dx) {
  ForEachRun(
      shape, rows,
      [&](int64_t channel, const Overlap& overlap, const Run& run, int64_t at) {
        if (run.inside) {
          ScatterRun(shape, overlap, run.rows, columns + at,
                     dx + channel + run.image);
        }
      });
}

}  // namespace paceline
