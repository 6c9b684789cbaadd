#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu/conformance.h"

namespace paceline {
namespace {

class LinearConformanceTest : public ConformanceTest {};
PACELINE_ON_EVERY_BACKEND(LinearConformanceTest);

std::vector<float> NaiveGemm(const GemmShape& shape, float alpha,
                             const std::vector<float>& a,
                             const std::vector<float>& b) {
  std::vector<float> c(shape.m * shape.n);
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < shape.k; ++l) {
        sum += double{shape.transpose_a ? a[l * shape.m + i]
                                        : a[i * shape.k + l]} *
               (shape.transpose_b ? b[j * shape.k + l] : b[l * shape.n + j]);
      }
      c[i * shape.n + j] = static_cast<float>(alpha * sum);
    }
  }
  return c;
}

// Sizes at, below and above what a kernel can get wrong, transposed and not.
TEST_P(LinearConformanceTest, Gemm) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {3, 5, 7}, {16, 33, 17}, {64, 10, 129}, {130, 120, 90}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(
            absl::StrCat(m, " ", n, " ", k, " ", transpose_a, transpose_b));
        const GemmShape shape{transpose_a, transpose_b, m, n, k};
        const auto a = RandomFloats(m * k, 1), b = RandomFloats(k * n, 2);
        const auto old = RandomFloats(m * n, 3);
        auto want = NaiveGemm(shape, 0.5f, a, b);
        // Beta 0 must overwrite even what is not a number.
        const DeviceArray fresh(*backend_, m * n, kNan), more(*backend_, old);
        const DeviceArray da(*backend_, a), db(*backend_, b);
        backend_->Gemm(shape, 0.5f, da.span(), db.span(), 0, fresh.span());
        ExpectNear(fresh.Host(), want, 1e-4f);
        backend_->Gemm(shape, 0.5f, da.span(), db.span(), 1, more.span());
        for (size_t i = 0; i < want.size(); ++i) want[i] += old[i];
        ExpectNear(more.Host(), want, 1e-4f);
      }
    }
  }
}

TEST_P(LinearConformanceTest, AddBias) {
  for (const BiasShape& shape :
       {BiasShape{1, 3, 33}, BiasShape{5, 7, 1}, BiasShape{2, 3, 4},
        BiasShape{1, 3, 33, Activation::kRelu},
        BiasShape{5, 7, 1, Activation::kRelu}}) {
    const auto bias = RandomFloats(shape.channels, 1);
    const auto y = RandomFloats(shape.size(), 2);
    auto want = y;
    for (int64_t i = 0; i < shape.size(); ++i) {
      want[i] += bias[i / shape.inner % shape.channels];
      if (shape.activation == Activation::kRelu) want[i] = Relu(want[i]);
    }
    const DeviceArray dbias(*backend_, bias), dy(*backend_, y);
    backend_->AddBias(shape, dbias.span(), dy.span());
    EXPECT_EQ(dy.Host(), want);
  }
}

TEST_P(LinearConformanceTest, PacksAsTheWireHasIt) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const int64_t size : {1, 2, 7, 255, 1025}) {
      auto values = RandomFloats(size, 1);
      values[0] = 1e30f;  // Too large for fp16: an infinity.
      const int64_t floats = PackedSize(dtype, size);
      std::vector<float> want(floats, 0.0f);
      ConvertFromF32(dtype, values.data(), values.size(),
                     reinterpret_cast<char*>(want.data()));
      const DeviceArray x(*backend_, values), packed(*backend_, floats);
      backend_->Pack(dtype, x.span(), packed.span());
      EXPECT_EQ(BytesOf(packed.Host()), BytesOf(want)) << DTypeName(dtype);
    }
  }
}

// Small integers add exactly in any order: no tolerance.
TEST_P(LinearConformanceTest, ReduceBias) {
  for (const BiasShape& shape :
       {BiasShape{1, 3, 1033}, BiasShape{300, 7, 1}, BiasShape{2, 3, 4}}) {
    std::vector<float> dy(shape.size());
    std::vector<float> want(shape.channels);
    for (int64_t i = 0; i < shape.size(); ++i) {
      dy[i] = static_cast<float>(i % 11 - 5);
      want[i / shape.inner % shape.channels] += dy[i];
    }
    const DeviceArray ddy(*backend_, dy);
    const DeviceArray fresh(*backend_, shape.channels, kNan);
    backend_->ReduceBias(shape, ddy.span(), 0, fresh.span());
    EXPECT_EQ(fresh.Host(), want);
    backend_->ReduceBias(shape, ddy.span(), 1, fresh.span());
    for (float& value : want) value *= 2;
    EXPECT_EQ(fresh.Host(), want);
  }
}

TEST_P(LinearConformanceTest, Elementwise) {
  for (const int64_t size : {0, 1, 31, 32, 33, 255, 257, 100001}) {
    const auto x = RandomFloats(size, 1), y = RandomFloats(size, 2);
    std::vector<float> axpy = y, relu = x, drelu = y;
    for (int64_t i = 0; i < size; ++i) {
      axpy[i] += 0.25f * x[i];
      relu[i] = std::max(x[i], 0.0f);
      drelu[i] = x[i] > 0 ? y[i] : 0;
    }
    const DeviceArray dx(*backend_, x), dy(*backend_, y);
    const DeviceArray out(*backend_, size, kNan);
    backend_->ReluForward(dx.span(), out.span());
    EXPECT_EQ(out.Host(), relu);
    backend_->ReluBackward(out.span(), dy.span(), out.span());
    EXPECT_EQ(out.Host(), drelu);
    backend_->Axpy(0.25f, dx.span(), dy.span());
    EXPECT_EQ(dy.Host(), axpy);
    backend_->Copy(dx.span(), out.span());
    EXPECT_EQ(out.Host(), x);
    backend_->Fill(7, out.span());
    EXPECT_EQ(out.Host(), std::vector<float>(size, 7));
  }
}

// Three steps, beside the definition in double precision.
TEST_P(LinearConformanceTest, ApplySgd) {
  const SgdStep steps[] = {
      {.rate = 0.1f, .weight_decay = 0.01f},
      {.rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f},
      {.rate = 0.1f, .momentum = 0.9f, .nesterov = true},
  };
  for (const SgdStep& step : steps) {
    for (const int64_t size : {0, 1, 31, 32, 33, 257, 10001}) {
      const auto g = RandomFloats(size, 1), w = RandomFloats(size, 2);
      const DeviceArray gradient(*backend_, g), weights(*backend_, w);
      const DeviceArray velocity(*backend_, step.momentum == 0 ? 0 : size);
      for (int i = 0; i < 3; ++i) {
        backend_->ApplySgd(step, gradient.span(), velocity.span(),
                           weights.span());
      }
      const auto got = weights.Host();
      for (int64_t i = 0; i < size; ++i) {
        double want = w[i], v = 0;
        for (int n = 0; n < 3; ++n) {
          const double d = g[i] + step.weight_decay * want;
          v = step.momentum * v + d;
          want -= step.rate * (step.nesterov ? d + step.momentum * v : v);
        }
        ASSERT_NEAR(got[i], want, 1e-6) << size << " " << i;
      }
      EXPECT_EQ(gradient.Host(), g);
    }
  }
}

TEST_P(LinearConformanceTest, ReluPassesNanOn) {
  const DeviceArray x(*backend_, 40, kNan);
  backend_->ReluForward(x.span(), x.span());
  for (const float value : x.Host()) EXPECT_TRUE(std::isnan(value));
}

TEST_P(LinearConformanceTest, AllocatesZerosOnACacheLine) {
  const auto buffer = backend_->Allocate(1000);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->span().data) % 64, 0u);
  std::vector<float> values(1000, 1);
  backend_->Download(Lane::kCompute, (*buffer)->span(), absl::MakeSpan(values));
  ASSERT_TRUE(backend_->Synchronize().ok());
  EXPECT_EQ(values, std::vector<float>(1000, 0));
}

TEST_P(LinearConformanceTest, SaysWhenThereIsNoMemory) {
  const auto buffer = backend_->Allocate(int64_t{1} << 60);
  EXPECT_TRUE(absl::IsResourceExhausted(buffer.status())) << buffer.status();
}

}  // namespace
}  // namespace paceline
