#include "services/worker/device_info.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status.h"
#include "common/usable_memory.h"
#include "gpu/gpu_device.h"

namespace paceline {
namespace {

DeviceInfo TheCpu() { return {"cpu", "", UsableMemory("")}; }

absl::StatusOr<DeviceInfo> Gpu(int ordinal) {
  PACELINE_ASSIGN_OR_RETURN(const GpuDevice gpu, FindGpu(ordinal));
  return DeviceInfo{.device = "cuda",
                    .gpu_model = gpu.name,
                    .memory_bytes = gpu.memory_bytes,
                    .gpu = ordinal,
                    .compute_capability = gpu.compute_capability,
                    .gpu_uuid = gpu.uuid};
}

}  // namespace

absl::StatusOr<DeviceInfo> DescribeDevice(absl::string_view device) {
  if (device == "cpu") return TheCpu();
  if (device == "auto") {
    absl::StatusOr<DeviceInfo> gpu = Gpu(0);
    if (gpu.ok()) return gpu;
    DeviceInfo cpu = TheCpu();
    cpu.no_gpu = std::string(gpu.status().message());
    return cpu;
  }
  absl::string_view number = device;
  int ordinal = 0;
  if (device == "cuda" ||
      (absl::ConsumePrefix(&number, "cuda:") &&
       absl::SimpleAtoi(number, &ordinal) && ordinal >= 0)) {
    absl::StatusOr<DeviceInfo> gpu = Gpu(ordinal);
    if (!gpu.ok()) {
      return Annotate(gpu.status(), absl::StrCat("--device ", device));
    }
    return gpu;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("device \"", device, "\": want auto, cpu, cuda or cuda:N"));
}

}  // namespace paceline
