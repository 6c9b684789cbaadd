#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/services/worker/pushing_test.h"

// Gradients that are fp32 in memory, where the wire format is another one.

namespace paceline {
namespace {

constexpr size_t kConverted = 1001;

class ConvertedPushTest : public PushingTest,
                          public ::testing::WithParamInterface<DType> {
 protected:
  ConvertedPushTest()
      : PushingTest(GetParam(), kConverted, kConverted, /*unconverted=*/true) {}

  static std::string Encoded(const std::vector<float>& floats) {
    std::string bytes(EncodedSize(GetParam(), floats.size()), '\0');
    ConvertFromF32(GetParam(), floats.data(), floats.size(), bytes.data());
    return bytes;
  }
};

TEST_P(ConvertedPushTest, EachPushIsWhatAConversionOfAllGives) {
  for (int i = 0; i < 3; ++i) {
    Begin();
    EXPECT_EQ(Finish().bytes, 2 * EncodedSize(GetParam(), kConverted));
    EXPECT_EQ(server_.Pushed(0), Encoded(gradient_)) << "push " << i;
    EXPECT_EQ(server_.Format(0), ToWire(GetParam()));
    EXPECT_EQ(server_.Pushed(1), Encoded(statistics_));
    EXPECT_EQ(server_.Format(1), ToWire(GetParam()));
  }
}

TEST_P(ConvertedPushTest, APushThatIsSentAgainIsTheSame) {
  server_.HoldPushes();
  Begin();
  server_.AwaitHeldPush();
  server_.BreakStreams(absl::UnavailableError("broken by the test"));
  server_.AwaitHeldPush();
  EXPECT_EQ(server_.Pushed(0), Encoded(gradient_));
  server_.AcknowledgePushes();
  Finish();
}

INSTANTIATE_TEST_SUITE_P(Formats, ConvertedPushTest,
                         ::testing::Values(DType::kBF16, DType::kF16,
                                           DType::kF32),
                         [](const auto& format) {
                           return std::string(DTypeName(format.param));
                         });

}  // namespace
}  // namespace paceline
