#include "gpu/backend.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::string MessageOf(absl::string_view name, int threads = 1) {
  return std::string(
      MakeBackend(name, {.threads = threads}).status().message());
}

TEST(MakeBackendTest, KnowsItsNames) {
  const auto cpu = MakeBackend("cpu");
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  EXPECT_EQ((*cpu)->name(), "cpu");
  EXPECT_TRUE((*cpu)->host_visible());
  EXPECT_TRUE(absl::IsInvalidArgument(MakeBackend("tpu").status()));
  EXPECT_THAT(MessageOf("tpu"), HasSubstr("there are cpu and cuda"));
}

// Where it is built in and the machine has a GPU, there is one.
TEST(MakeBackendTest, SaysWhyThereIsNoCuda) {
  const auto cuda = MakeBackend("cuda");
  if (cuda.ok()) {
    EXPECT_EQ((*cuda)->name(), "cuda");
    EXPECT_FALSE((*cuda)->host_visible());
    return;
  }
  if (absl::IsFailedPrecondition(cuda.status())) {
    EXPECT_THAT(MessageOf("cuda"), HasSubstr("built without CUDA"));
    return;
  }
  EXPECT_TRUE(absl::IsUnavailable(cuda.status())) << cuda.status();
  EXPECT_FALSE(cuda.status().message().empty());
}

TEST(MakeBackendTest, LimitsTheShareOfAGpu) {
  for (const double share : {0.0, -0.5, 1.5, std::nan("")}) {
    const absl::Status status =
        MakeBackend("cuda", {.memory_fraction = share}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << share << status;
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(MakeBackend("cuda", {.device = -1}).status()));
}

TEST(MakeBackendTest, LimitsThreads) {
  EXPECT_THAT(MessageOf("cpu", 0), HasSubstr("between 1 and 1024"));
  EXPECT_THAT(MessageOf("cpu", 1025), HasSubstr("between 1 and 1024"));
}

TEST(DeviceSpanTest, NamesParts) {
  float values[6] = {};
  const DeviceSpan span{values, 6};
  EXPECT_EQ(span.Sub(2, 3).data, values + 2);
  EXPECT_EQ(span.First(4).size, 4);
  EXPECT_DEATH(span.Sub(4, 3), "CHECK");
}

}  // namespace
}  // namespace paceline
