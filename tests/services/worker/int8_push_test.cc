#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/services/worker/pushing_test.h"

// What a job of wire format int8 pushes, and pushes again.

namespace paceline {
namespace {

constexpr size_t kElements = 300;
constexpr size_t kStatistics = 10;

class Int8PushTest : public PushingTest {
 protected:
  Int8PushTest()
      : PushingTest(DType::kInt8, kElements, kStatistics,
                    /*unconverted=*/false) {}

  // What the gradient and this residual are pushed as; leaves what that lacks.
  std::string Encoded(std::vector<float>& residual) const {
    std::string bytes(Int8Size(kElements), '\0');
    std::vector<float> left(kElements);
    EncodeInt8(gradient_.data(), residual.data(), kElements, bytes.data(),
               left.data());
    residual = left;
    return bytes;
  }
};

TEST_F(Int8PushTest, GradientsAreInt8AndOtherValuesAreNot) {
  Begin();
  const PushResult pushed = Finish();
  std::vector<float> residual(kElements);
  EXPECT_EQ(server_.Pushed(0), Encoded(residual));
  EXPECT_EQ(server_.Format(0), v1::INT8);
  EXPECT_EQ(server_.Pushed(1), BytesOf(statistics_));
  EXPECT_EQ(server_.Format(1), v1::FP32);
  EXPECT_EQ(pushed.bytes, Int8Size(kElements) + 4 * kStatistics);
}

TEST_F(Int8PushTest, EachPushMakesGoodTheOneBefore) {
  std::vector<float> residual(kElements);
  for (int i = 0; i < 10; ++i) {
    Begin();
    Finish();
    ASSERT_EQ(server_.Pushed(0), Encoded(residual)) << "push " << i;
  }
}

TEST_F(Int8PushTest, APushThatIsSentAgainIsTheSameAndCountsOnce) {
  std::vector<float> residual(kElements);
  Begin();
  Finish();
  ASSERT_EQ(server_.Pushed(0), Encoded(residual));
  server_.HoldPushes();
  Begin();
  server_.AwaitHeldPush();
  const std::string bytes = Encoded(residual);
  EXPECT_EQ(server_.Pushed(0), bytes);
  for (int again = 0; again < 2; ++again) {
    server_.BreakStreams(absl::UnavailableError("broken by the test"));
    server_.AwaitHeldPush();
    EXPECT_EQ(server_.Pushed(0), bytes);
  }
  server_.AcknowledgePushes();
  Finish();
  Begin();
  Finish();
  EXPECT_EQ(server_.Pushed(0), Encoded(residual));
}

TEST_F(Int8PushTest, WhatIsRefusedChangesNoResidual) {
  std::vector<float> residual(kElements);
  Begin();
  Finish();
  ASSERT_EQ(server_.Pushed(0), Encoded(residual));
  server_.RefuseBlock(0);
  Begin();
  EXPECT_EQ(Finish().blocks_refused, 1u);
  server_.RefuseBlock(std::nullopt);
  Begin();
  EXPECT_EQ(Finish().blocks_refused, 0u);
  EXPECT_EQ(server_.Pushed(0), Encoded(residual));
}

}  // namespace
}  // namespace paceline
