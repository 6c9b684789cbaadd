#ifndef PACELINE_GPU_SHAPES_H_
#define PACELINE_GPU_SHAPES_H_

#include <cstdint>

namespace paceline {

// The shapes that operations take. Activations of images lie channel by
// channel, [channels, batch, height, width]: a convolution of a whole batch is
// then one matrix product, and a channel's statistics are one contiguous run.

// What an operation does to its result before it writes it, which saves a pass
// over memory.
enum class Activation {
  kNone,
  kRelu,  // max(y, 0); NaN stays NaN.
};

// C[m, n] = op(A)[m, k] * op(B)[k, n], all row-major without gaps.
struct GemmShape {
  bool transpose_a = false;  // A is stored as [k, m].
  bool transpose_b = false;  // B is stored as [n, k].
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// An array [outer, channels, inner] with one bias a channel. Dense layers have
// inner 1, convolutions outer 1.
struct BiasShape {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;
  Activation activation = Activation::kNone;  // Of y.

  constexpr int64_t size() const { return outer * channels * inner; }
};

// x [in_channels, batch, height, width], weights [out_channels, in_channels,
// kernel, kernel], y [out_channels, batch, out_height(), out_width()].
struct ConvShape {
  int64_t batch = 0;
  int64_t in_channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_channels = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad = 0;

  constexpr int64_t out_height() const {
    return (height + 2 * pad - kernel) / stride + 1;
  }
  constexpr int64_t out_width() const {
    return (width + 2 * pad - kernel) / stride + 1;
  }
  constexpr int64_t patch() const { return in_channels * kernel * kernel; }
  constexpr int64_t input_size() const {
    return in_channels * batch * height * width;
  }
  constexpr int64_t weight_size() const { return out_channels * patch(); }
  // One row of the output image after the other, over all samples.
  constexpr int64_t out_rows() const { return batch * out_height(); }
  constexpr int64_t out_plane() const { return out_rows() * out_width(); }
  constexpr int64_t output_size() const { return out_channels * out_plane(); }
};

// x [planes, height, width], y [planes, out_height(), out_width()]; windows do
// not reach over the edge, and a rest narrower than a window is left out.
struct PoolShape {
  int64_t planes = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t window = 1;
  int64_t stride = 1;

  constexpr int64_t out_height() const {
    return (height - window) / stride + 1;
  }
  constexpr int64_t out_width() const { return (width - window) / stride + 1; }
  constexpr int64_t input_size() const { return planes * height * width; }
  constexpr int64_t output_size() const {
    return planes * out_height() * out_width();
  }
};

// x and y [channels, inner], inner = batch * height * width.
struct BatchNormShape {
  int64_t channels = 0;
  int64_t inner = 0;
  float epsilon = 1e-5f;
  Activation activation = Activation::kNone;  // Of y.

  constexpr int64_t size() const { return channels * inner; }
};

// The parameter-free shortcut of a residual block: every stride-th pixel, and
// zero channels added in equal parts below and above (He et al., "Deep
// Residual Learning", 2015, section 4.2, option A).
// x [in_channels, batch, height, width], y [out_channels, batch,
// out_height(), out_width()].
struct ShortcutShape {
  int64_t batch = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t stride = 1;
  Activation activation = Activation::kNone;  // Of y, the added channels too.

  constexpr int64_t out_height() const { return (height - 1) / stride + 1; }
  constexpr int64_t out_width() const { return (width - 1) / stride + 1; }
  constexpr int64_t first_channel() const {
    return (out_channels - in_channels) / 2;
  }
  constexpr int64_t input_size() const {
    return in_channels * batch * height * width;
  }
  constexpr int64_t output_size() const {
    return out_channels * batch * out_height() * out_width();
  }
};

// Coefficients of one step of stochastic gradient descent; see
// Backend::ApplySgd().
struct SgdStep {
  float rate = 0;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

// logits [batch, classes].
struct LossShape {
  int64_t batch = 0;
  int64_t classes = 0;
};

}  // namespace paceline

#endif  // PACELINE_GPU_SHAPES_H_
