#include "tests/gpu/twin_cases.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "tests/gpu/device_memory.h"

namespace paceline {
namespace {

using Views = std::vector<DeviceView>;
using Spans = std::vector<DeviceSpan>;

// Around a warp, a block, a tile of batch norm, and a whole grid.
constexpr int64_t kSizes[] = {1,
                              2,
                              31,
                              32,
                              33,
                              255,
                              256,
                              257,
                              4095,
                              4096,
                              4097,
                              65'537,
                              (int64_t{16'384} * 256) + 3};

// Numbers of every magnitude, ties between two 16-bit neighbours, what is too
// large for fp16 and what is subnormal in it.
std::vector<float> RoundedHardly(int64_t size) {
  std::vector<float> values = RandomFloats(size, 3);
  for (int64_t i = 0; i < size; ++i) {
    values[i] = std::ldexp(values[i], static_cast<int>(i % 50) - 28);
    const auto step = static_cast<float>(i % 64);
    if (i % 3 == 1) values[i] = 1.0f + std::ldexp(step, -12);
    if (i % 3 == 2) values[i] = 1.0f + std::ldexp(step, -9);
  }
  return values;
}

std::vector<TwinCase> Elementwise() {
  std::vector<TwinCase> cases;
  for (const int64_t size : kSizes) {
    const auto x = RandomFloats(size, 1), y = RandomFloats(size, 2);
    cases.push_back({.name = absl::StrCat("fill ", size),
                     .inputs = {},
                     .outputs = {size},
                     .run = [](Backend& b, const Views&, const Spans& out) {
                       b.Fill(0.25f, out[0]);
                     }});
    cases.push_back({.name = absl::StrCat("copy, axpy, scale ", size),
                     .inputs = {x, y},
                     .outputs = {size},
                     .run = [](Backend& b, const Views& in, const Spans& out) {
                       b.Copy(in[0], out[0]);
                       b.Axpy(-0.5f, in[1], out[0]);
                       b.Scale(3, out[0]);
                     }});
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      cases.push_back({.name = absl::StrCat("pack ", size),
                       .inputs = {RoundedHardly(size)},
                       .outputs = {PackedSize(dtype, size)},
                       .run =
                           [=](Backend& b, const Views& in, const Spans& out) {
                             // An odd rest is not written.
                             b.Fill(0, out[0]);
                             b.Pack(dtype, in[0], out[0]);
                           },
                       .exact = true});
    }
    cases.push_back({.name = absl::StrCat("relu ", size),
                     .inputs = {x, y},
                     .outputs = {size, size},
                     .run = [](Backend& b, const Views& in, const Spans& out) {
                       b.ReluForward(in[0], out[0]);
                       b.ReluBackward(out[0], in[1], out[1]);
                     }});
  }
  return cases;
}

std::vector<TwinCase> SgdSteps() {
  const SgdStep steps[] = {
      {.rate = 0.1f},
      {.rate = 0.1f, .weight_decay = 0.01f},
      {.rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f},
      {.rate = 0.1f, .momentum = 0.9f, .nesterov = true},
  };
  std::vector<TwinCase> cases;
  for (const SgdStep& step : steps) {
    for (const int64_t size : kSizes) {
      const int64_t remembered = step.momentum == 0 ? 0 : size;
      cases.push_back(
          {.name = absl::StrCat("sgd, momentum ", step.momentum, ", decay ",
                                step.weight_decay, ", ", size),
           .inputs = {RandomFloats(size, 1), RandomFloats(remembered, 2),
                      RandomFloats(size, 3)},
           .outputs = {remembered, size},
           .run = [=](Backend& b, const Views& in, const Spans& out) {
             b.Copy(in[1], out[0]);
             b.Copy(in[2], out[1]);
             for (int i = 0; i < 3; ++i) {
               b.ApplySgd(step, in[0], out[0], out[1]);
             }
           }});
    }
  }
  return cases;
}

std::vector<TwinCase> Gemm() {
  std::vector<TwinCase> cases;
  Rng rng(1);
  const int64_t sides[] = {1, 2, 15, 16, 17, 63, 64, 65, 130};
  for (int i = 0; i < 60; ++i) {
    const GemmShape shape{.transpose_a = rng.Chance(1, 2),
                          .transpose_b = rng.Chance(1, 2),
                          .m = sides[rng.Below(9)],
                          .n = sides[rng.Below(9)],
                          .k = sides[rng.Below(9)]};
    const float beta = rng.Chance(1, 2) ? 0.0f : 1.0f;
    cases.push_back({.name = absl::StrCat(shape.m, "x", shape.n, "x", shape.k,
                                          shape.transpose_a, shape.transpose_b),
                     .inputs = {RandomFloats(shape.m * shape.k, 3 * i),
                                RandomFloats(shape.k * shape.n, 3 * i + 1),
                                RandomFloats(shape.m * shape.n, 3 * i + 2)},
                     .outputs = {shape.m * shape.n},
                     .run =
                         [=](Backend& b, const Views& in, const Spans& out) {
                           if (beta != 0) b.Copy(in[2], out[0]);
                           b.Gemm(shape, 1, in[0], in[1], beta, out[0]);
                         },
                     .linear = true});
  }
  return cases;
}

std::vector<TwinCase> Bias() {
  std::vector<TwinCase> cases;
  for (const BiasShape& shape :
       {BiasShape{1, 1, 1}, BiasShape{65, 10, 1}, BiasShape{1, 16, 4097},
        BiasShape{3, 7, 257}, BiasShape{128, 512, 1},
        BiasShape{3, 7, 257, Activation::kRelu}}) {
    cases.push_back({.name = absl::StrCat("bias ", shape.size()),
                     .inputs = {RandomFloats(shape.size(), 1),
                                RandomFloats(shape.channels, 2)},
                     .outputs = {shape.size(), shape.channels},
                     .run =
                         [=](Backend& b, const Views& in, const Spans& out) {
                           b.Copy(in[0], out[0]);
                           b.AddBias(shape, in[1], out[0]);
                           b.ReduceBias(shape, in[0], 0, out[1]);
                           b.ReduceBias(shape, in[0], 1, out[1]);
                         },
                     .linear = true});
  }
  return cases;
}

std::vector<ConvShape> ConvShapes() {
  std::vector<ConvShape> shapes = {
      // Of the models.
      {8, 3, 32, 32, 16, 3, 1, 1},
      {8, 16, 32, 32, 16, 3, 1, 1},
      {8, 16, 32, 32, 32, 3, 2, 1},
      {4, 32, 16, 16, 64, 3, 2, 1},
      {4, 64, 8, 8, 64, 3, 1, 1},
      {4, 3, 32, 32, 32, 5, 1, 2},
      {8, 1, 28, 28, 6, 5, 1, 2},
      {4, 6, 14, 14, 16, 5, 1, 0},
      // One pixel, and what leaves a rest.
      {5, 7, 9, 11, 13, 1, 1, 0},
      {5, 7, 9, 11, 13, 1, 2, 0},
      {3, 2, 7, 5, 3, 3, 2, 0},
      {1, 1, 1, 1, 1, 1, 1, 0},
      {2, 3, 6, 7, 4, 4, 3, 2},
      {1, 2, 5, 5, 3, 5, 1, 4},
  };
  return shapes;
}

std::vector<TwinCase> Convolution() {
  std::vector<TwinCase> cases;
  for (const ConvShape& shape : ConvShapes()) {
    cases.push_back(
        {.name = absl::StrCat("conv ", shape.in_channels, "x", shape.height,
                              "x", shape.width, " kernel ", shape.kernel),
         .inputs = {RandomFloats(shape.input_size(), 1),
                    RandomFloats(shape.weight_size(), 2),
                    RandomFloats(shape.out_channels, 3),
                    RandomFloats(shape.output_size(), 4)},
         .outputs = {shape.output_size(), shape.output_size(),
                     shape.weight_size(), shape.input_size()},
         .run =
             [=](Backend& b, const Views& in, const Spans& out) {
               b.ConvForward(shape, in[0], in[1], {}, out[0]);
               b.ConvForward(shape, in[0], in[1], in[2], out[1]);
               b.ConvBackwardWeights(shape, in[0], in[3], 0, out[2]);
               b.ConvBackwardWeights(shape, in[0], in[3], 1, out[2]);
               b.ConvBackwardData(shape, in[1], in[3], out[3]);
             },
         .linear = true});
  }
  return cases;
}

std::vector<TwinCase> Pools() {
  std::vector<TwinCase> cases;
  for (const PoolShape& shape :
       {PoolShape{6, 28, 28, 2, 2}, PoolShape{3, 7, 9, 2, 2},
        PoolShape{4, 9, 9, 3, 2}, PoolShape{2, 8, 8, 8, 8},
        PoolShape{5, 11, 13, 3, 1}, PoolShape{2, 9, 9, 2, 3},
        PoolShape{1, 1, 1, 1, 1}}) {
    cases.push_back(
        {.name = absl::StrCat("pool ", shape.height, " window ", shape.window,
                              " stride ", shape.stride),
         .inputs = {RandomFloats(shape.input_size(), 1),
                    RandomFloats(shape.output_size(), 2)},
         .outputs = {shape.output_size(), shape.input_size(),
                     shape.output_size(), shape.input_size()},
         .run = [=](Backend& b, const Views& in, const Spans& out) {
           b.MaxPoolForward(shape, in[0], out[0]);
           b.MaxPoolBackward(shape, in[0], in[1], out[1]);
           b.AvgPoolForward(shape, in[0], out[2]);
           b.AvgPoolBackward(shape, in[1], out[3]);
         }});
  }
  return cases;
}

// dy but for zeros where batch norm of x is so near to zero that the twins may
// see different signs.
std::vector<float> AwayFromTheKink(const BatchNormShape& shape,
                                   const std::vector<float>& x,
                                   const std::vector<float>& scale,
                                   const std::vector<float>& shift,
                                   std::vector<float> dy) {
  for (int64_t c = 0; c < shape.channels; ++c) {
    const float* const in = x.data() + c * shape.inner;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < shape.inner; ++i) sum += in[i];
    const double mean = sum / static_cast<double>(shape.inner);
    for (int64_t i = 0; i < shape.inner; ++i) {
      squares += (in[i] - mean) * (in[i] - mean);
    }
    const double deviation =
        std::sqrt(squares / static_cast<double>(shape.inner) + shape.epsilon);
    for (int64_t i = 0; i < shape.inner; ++i) {
      const double y = (in[i] - mean) / deviation * scale[c] + shift[c];
      if (std::abs(y) < 1e-4) dy[c * shape.inner + i] = 0;
    }
  }
  return dy;
}

std::vector<TwinCase> BatchNorm() {
  std::vector<TwinCase> cases;
  for (const int64_t inner : {2, 31, 255, 256, 257, 4095, 4096, 4097, 20'000}) {
    for (const int64_t channels : {1, 3, 64}) {
      BatchNormShape shape{.channels = channels, .inner = inner};
      // The gradient of two values is epsilon's alone: else it has no digits.
      if (inner == 2) shape.epsilon = 0.5f;
      BatchNormShape relu = shape;
      relu.activation = Activation::kRelu;
      const auto x = RandomFloats(shape.size(), 1);
      const auto scale = RandomFloats(channels, 2);
      const auto offset = RandomFloats(channels, 3);
      cases.push_back(
          {.name = absl::StrCat("batch norm ", channels, "x", inner),
           .inputs = {x, scale, offset,
                      AwayFromTheKink(shape, x, scale, offset,
                                      RandomFloats(shape.size(), 4))},
           .outputs = {channels, channels, shape.size(), channels, channels,
                       shape.size(), channels, channels, shape.size(),
                       shape.size(), shape.size()},
           .run = [=](Backend& b, const Views& in, const Spans& out) {
             b.BatchNormForward(shape, in[0], in[1], in[2], out[0], out[1],
                                out[2]);
             b.BatchNormBackward(relu, in[0], in[1], in[2], out[0], out[1],
                                 in[3], 0, out[3], out[4], out[10]);
             b.BatchNormBackward(shape, in[0], in[1], in[2], out[0], out[1],
                                 in[3], 1, out[3], out[4], out[5]);
             b.BatchNormMoments(0.5f, out[0], out[1], 0, out[6], out[7]);
             b.BatchNormInference(shape, in[0], in[1], in[2], out[6], out[7],
                                  out[8]);
             b.BatchNormInference(relu, in[0], in[1], in[2], out[6], out[7],
                                  out[9]);
           }});
    }
  }
  return cases;
}

std::vector<TwinCase> LayoutsAndShortcuts() {
  std::vector<TwinCase> cases;
  cases.push_back({.name = "swap",
                   .inputs = {RandomFloats(3 * 65 * 257, 1)},
                   .outputs = {3 * 65 * 257},
                   .run = [](Backend& b, const Views& in, const Spans& out) {
                     b.SwapLeading(3, 65, 257, in[0], out[0]);
                   }});
  for (const ShortcutShape& shape :
       {ShortcutShape{4, 16, 16, 9, 7, 1}, ShortcutShape{4, 16, 32, 9, 7, 2},
        ShortcutShape{1, 3, 8, 1, 1, 1}, ShortcutShape{2, 5, 6, 8, 8, 2},
        ShortcutShape{4, 16, 16, 9, 7, 1, Activation::kRelu},
        ShortcutShape{4, 16, 32, 9, 7, 2, Activation::kRelu}}) {
    cases.push_back({.name = absl::StrCat("shortcut ", shape.in_channels,
                                          " to ", shape.out_channels),
                     .inputs = {RandomFloats(shape.input_size(), 1),
                                RandomFloats(shape.output_size(), 2)},
                     .outputs = {shape.output_size(), shape.input_size()},
                     .run =
                         [=](Backend& b, const Views& in, const Spans& out) {
                           b.Copy(in[1], out[0]);
                           b.AddShortcut(shape, in[0], out[0]);
                           b.Copy(in[0], out[1]);
                           b.AddShortcutGradient(shape, in[1], out[1]);
                         },
                     .linear = true});
  }
  return cases;
}

std::vector<TwinCase> Loss() {
  std::vector<TwinCase> cases;
  for (const LossShape& shape : {LossShape{1, 2}, LossShape{65, 10},
                                 LossShape{128, 31}, LossShape{3, 256}}) {
    std::vector<float> labels;
    for (int64_t i = 0; i < shape.batch; ++i) {
      labels.push_back(static_cast<float>(i * 7 % shape.classes));
    }
    cases.push_back(
        {.name = absl::StrCat("loss ", shape.batch, "x", shape.classes),
         .inputs = {RandomFloats(shape.batch * shape.classes, 1), labels},
         .outputs = {shape.batch * shape.classes, shape.batch, shape.batch},
         .run = [=](Backend& b, const Views& in, const Spans& out) {
           b.SoftmaxCrossEntropy(shape, in[0], in[1], 0.125f, out[0], out[1],
                                 out[2]);
         }});
  }
  return cases;
}

}  // namespace

const std::vector<TwinFamily>& TwinFamilies() {
  static const auto* const all = new std::vector<TwinFamily>{
      {"Elementwise", &Elementwise},
      {"Sgd", &SgdSteps},
      {"Gemm", &Gemm},
      {"Bias", &Bias},
      {"Convolution", &Convolution},
      {"Pools", &Pools},
      {"BatchNorm", &BatchNorm},
      {"LayoutsAndShortcuts", &LayoutsAndShortcuts},
      {"Loss", &Loss},
  };
  return *all;
}

}  // namespace paceline
