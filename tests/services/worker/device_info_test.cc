#include "services/worker/device_info.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(DescribeDeviceTest, TheCpu) {
  for (const char* name : {"auto", "cpu"}) {
    const auto device = DescribeDevice(name);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_EQ(device->device, "cpu");
    EXPECT_EQ(device->gpu_model, "");
    EXPECT_GT(device->memory_bytes, 1u << 20);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(DescribeDevice("tpu").status()));
}

}  // namespace
}  // namespace paceline
