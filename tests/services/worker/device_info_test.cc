#include "services/worker/device_info.h"

#include "gmock/gmock.h"
#include "gpu/gpu_device.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::StartsWith;

TEST(DescribeDeviceTest, TheCpu) {
  const auto device = DescribeDevice("cpu");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->device, "cpu");
  EXPECT_EQ(device->gpu_model, "");
  EXPECT_EQ(device->no_gpu, "");
  EXPECT_GT(device->memory_bytes, 1u << 20);
}

TEST(DescribeDeviceTest, TheBestThereIs) {
  const auto device = DescribeDevice("auto");
  ASSERT_TRUE(device.ok()) << device.status();
  const auto gpu = FindGpu(0);
  EXPECT_EQ(device->device, gpu.ok() ? "cuda" : "cpu");
  EXPECT_EQ(device->gpu_model, gpu.ok() ? gpu->name : "");
  EXPECT_EQ(device->no_gpu, gpu.status().message());
  EXPECT_GT(device->memory_bytes, 1u << 20);
}

// No machine of ours has so many.
TEST(DescribeDeviceTest, AGpuThatIsDemandedMustBeThere) {
  const absl::Status status = DescribeDevice("cuda:999").status();
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsFailedPrecondition(status))
      << status;
  EXPECT_THAT(std::string(status.message()), StartsWith("--device cuda:999: "));
}

TEST(DescribeDeviceTest, OtherNames) {
  for (const char* name : {"tpu", "", "cuda:", "cuda:x", "cuda:-1", "CPU"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(DescribeDevice(name).status())) << name;
  }
}

}  // namespace
}  // namespace paceline
