#include "services/worker/device_info.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/usable_memory.h"
#include "gpu/gpu_device.h"
#include "services/worker/device_choice.h"

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
  PACELINE_ASSIGN_OR_RETURN(const DeviceChoice choice,
                            ParseDeviceChoice(device));
  if (choice.kind == DeviceChoice::Kind::kCpu) return TheCpu();
  absl::StatusOr<DeviceInfo> gpu = Gpu(choice.gpu);
  if (gpu.ok()) return gpu;
  if (choice.kind == DeviceChoice::Kind::kGpu) {
    return Annotate(gpu.status(), absl::StrCat("--device ", device));
  }
  DeviceInfo cpu = TheCpu();
  cpu.no_gpu = std::string(gpu.status().message());
  return cpu;
}

}  // namespace paceline
