#include "services/worker/device_info.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gpu/gpu_device.h"
#include "gtest/gtest.h"
#include "services/worker/device_choice.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST(DescribeDeviceTest, CpuDevicesShareTheMachinesMemory) {
  const auto device = DescribeDevice("cpu,cpu,cpu");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->device, "cpu");
  EXPECT_THAT(device->devices, ElementsAre(0, 0, 0));
  EXPECT_EQ(device->memory_bytes, DescribeDevice("cpu")->memory_bytes);
}

TEST(DescribeDeviceTest, EachGpuOfSeveralMustBeThere) {
  const absl::Status status = DescribeDevice("cuda:998,cuda:999").status();
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsFailedPrecondition(status))
      << status;
  EXPECT_THAT(std::string(status.message()),
              StartsWith("--device cuda:998,cuda:999: "));
}

GpuDevice Gpu(int ordinal, const std::string& name, uint64_t memory) {
  return {.ordinal = ordinal,
          .name = name,
          .uuid = absl::StrCat("GPU-", ordinal),
          .compute_capability = absl::StrCat("8.", ordinal),
          .memory_bytes = memory};
}

TEST(DescribeGpusTest, SeveralAreTheFirstAndAsLargeAsTheSmallestAllows) {
  const std::vector<GpuDevice> gpus = {Gpu(2, "A100", 80), Gpu(0, "A100", 79),
                                       Gpu(1, "A100", 80)};
  const DeviceInfo info = DescribeGpus(gpus);
  EXPECT_EQ(info.device, "cuda");
  EXPECT_EQ(info.gpu_model, "A100");
  EXPECT_EQ(info.gpu_uuid, "GPU-2");
  EXPECT_EQ(info.compute_capability, "8.2");
  EXPECT_THAT(info.devices, ElementsAre(2, 0, 1));
  EXPECT_EQ(info.memory_bytes, 3 * 79u);
  EXPECT_EQ(info.unlike, "");
}

TEST(DescribeGpusTest, UnlikeOnesAreTold) {
  const std::vector<GpuDevice> gpus = {Gpu(0, "A100", 80), Gpu(1, "T4", 16)};
  const DeviceInfo info = DescribeGpus(gpus);
  EXPECT_EQ(info.unlike, "A100, T4");
  EXPECT_EQ(info.memory_bytes, 32u);
}

TEST(DeviceChoiceTest, SeveralOfOneKind) {
  using Kind = DeviceChoice::Kind;
  EXPECT_EQ(ParseDeviceChoice("auto")->kind, Kind::kAuto);
  EXPECT_EQ(ParseDeviceChoice("cpu,cpu")->kind, Kind::kCpu);
  EXPECT_THAT(ParseDeviceChoice("cpu,cpu")->devices, ElementsAre(0, 0));
  EXPECT_EQ(ParseDeviceChoice("cuda:3,cuda:1")->kind, Kind::kGpu);
  EXPECT_THAT(ParseDeviceChoice("cuda:3,cuda:1")->devices, ElementsAre(3, 1));
  EXPECT_THAT(ParseDeviceChoice("cuda,cuda:1")->devices, ElementsAre(0, 1));
}

TEST(DeviceChoiceTest, ListsThatAreRefused) {
  std::string many = "cpu";
  for (size_t i = 0; i < kDevicesMax; ++i) many += ",cpu";
  const std::pair<std::string, const char*> refused[] = {
      {"cuda:0,cpu",
       "device \"cuda:0,cpu\": one worker computes on GPUs or on "
       "the CPU, not on both"},
      {"cpu,cuda:0", "not on both"},
      {"cuda:1,cuda:0,cuda:1", "GPU 1 is named twice"},
      {"cuda,cuda:0", "GPU 0 is named twice"},
      {"auto,cpu", "auto stands alone"},
      {"cuda:0,auto", "auto stands alone"},
      {"cpu,", "want auto, cpu, cuda or cuda:N"},
      {"cuda:0,1", "want auto, cpu, cuda or cuda:N"},
      {"cpu, cpu", "want auto, cpu, cuda or cuda:N"},
      {many, "at most 16 devices make a worker"}};
  for (const auto& [text, message] : refused) {
    const absl::Status status = ParseDeviceChoice(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace paceline
