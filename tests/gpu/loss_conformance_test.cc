#include <cmath>
#include <limits>
#include <vector>

#include "tests/gpu/conformance.h"

namespace paceline {
namespace {

class LossConformanceTest : public ConformanceTest {};
PACELINE_ON_EVERY_BACKEND(LossConformanceTest);

TEST_P(LossConformanceTest, LossHitsAndGradient) {
  const LossShape shape{.batch = 65, .classes = 10};
  auto logits = RandomFloats(shape.batch * shape.classes, 1);
  for (float& logit : logits) logit *= 5;
  std::vector<float> labels(shape.batch);
  std::vector<float> want_loss, want_correct, want_gradient;
  for (int64_t b = 0; b < shape.batch; ++b) {
    labels[b] = static_cast<float>(b * 7 % 10);
    const float* row = logits.data() + b * shape.classes;
    double sum = 0;
    int64_t best = 0;
    for (int64_t c = 0; c < shape.classes; ++c) {
      sum += std::exp(double{row[c]});
      if (row[c] > row[best]) best = c;
    }
    want_loss.push_back(static_cast<float>(std::log(sum) - row[b * 7 % 10]));
    want_correct.push_back(best == b * 7 % 10 ? 1 : 0);
    for (int64_t c = 0; c < shape.classes; ++c) {
      const double p = std::exp(double{row[c]}) / sum;
      want_gradient.push_back(
          static_cast<float>(0.125 * (p - (c == b * 7 % 10 ? 1 : 0))));
    }
  }
  const DeviceArray x(*backend_, logits), device_labels(*backend_, labels);
  const DeviceArray gradient(*backend_, shape.batch * shape.classes, kNan);
  const DeviceArray loss(*backend_, shape.batch), hits(*backend_, shape.batch);
  backend_->SoftmaxCrossEntropy(shape, x.span(), device_labels.span(), 0.125f,
                                gradient.span(), loss.span(), hits.span());
  ExpectNear(loss.Host(), want_loss, 1e-5f);
  EXPECT_EQ(hits.Host(), want_correct);
  ExpectNear(gradient.Host(), want_gradient, 1e-5f);
}

TEST_P(LossConformanceTest, HugeLogitsDoNotOverflow) {
  const DeviceArray x(*backend_, {1000.0f, -1000.0f, 999.0f});
  const DeviceArray loss(*backend_, 1), hits(*backend_, 1);
  const DeviceArray label(*backend_, std::vector<float>{0});
  backend_->SoftmaxCrossEntropy({1, 3}, x.span(), label.span(), 1, {},
                                loss.span(), hits.span());
  ExpectNear(loss.Host(), {std::log(1 + std::exp(-1.0f))}, 1e-5f);
  EXPECT_EQ(hits.Host(), std::vector<float>{1});
}

// The worker's check for a diverged model rests on this.
TEST_P(LossConformanceTest, NonFiniteLogitsGiveANonFiniteLoss) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kNan, infinity}) {
    for (int place = 0; place < 3; ++place) {
      std::vector<float> logits = {0.5f, 0.25f, 0.125f};
      logits[place] = bad;
      const DeviceArray x(*backend_, logits);
      const DeviceArray loss(*backend_, 1), hits(*backend_, 1);
      const DeviceArray label(*backend_, std::vector<float>{1});
      backend_->SoftmaxCrossEntropy({1, 3}, x.span(), label.span(), 1, {},
                                    loss.span(), hits.span());
      EXPECT_FALSE(std::isfinite(loss.Host()[0])) << bad << " at " << place;
    }
  }
}

}  // namespace
}  // namespace paceline
