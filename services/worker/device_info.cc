#include "services/worker/device_info.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/status.h"
#include "common/usable_memory.h"
#include "services/worker/device_choice.h"

namespace paceline {
namespace {

DeviceInfo TheCpu(const std::vector<int>& devices) {
  return {"cpu", "", UsableMemory(""), devices};
}

absl::StatusOr<DeviceInfo> Gpus(const std::vector<int>& ordinals) {
  std::vector<GpuDevice> gpus;
  for (const int ordinal : ordinals) {
    PACELINE_ASSIGN_OR_RETURN(GpuDevice gpu, FindGpu(ordinal));
    gpus.push_back(std::move(gpu));
  }
  return DescribeGpus(gpus);
}

}  // namespace

DeviceInfo DescribeGpus(absl::Span<const GpuDevice> gpus) {
  CHECK(!gpus.empty());
  const GpuDevice& first = gpus[0];
  DeviceInfo info{.device = "cuda",
                  .gpu_model = first.name,
                  .memory_bytes = first.memory_bytes,
                  .devices = {},
                  .compute_capability = first.compute_capability,
                  .gpu_uuid = first.uuid};
  for (const GpuDevice& gpu : gpus) {
    info.devices.push_back(gpu.ordinal);
    info.memory_bytes = std::min(info.memory_bytes, gpu.memory_bytes);
  }
  info.memory_bytes *= gpus.size();
  if (absl::c_any_of(
          gpus, [&](const GpuDevice& gpu) { return gpu.name != first.name; })) {
    info.unlike =
        absl::StrJoin(gpus, ", ", [](std::string* out, const GpuDevice& gpu) {
          absl::StrAppend(out, gpu.name);
        });
  }
  return info;
}

absl::StatusOr<DeviceInfo> DescribeDevice(absl::string_view device) {
  PACELINE_ASSIGN_OR_RETURN(const DeviceChoice choice,
                            ParseDeviceChoice(device));
  if (choice.kind == DeviceChoice::Kind::kCpu) return TheCpu(choice.devices);
  absl::StatusOr<DeviceInfo> gpus = Gpus(choice.devices);
  if (gpus.ok()) return gpus;
  if (choice.kind == DeviceChoice::Kind::kGpu) {
    return Annotate(gpus.status(), absl::StrCat("--device ", device));
  }
  DeviceInfo cpu = TheCpu(choice.devices);
  cpu.no_gpu = std::string(gpus.status().message());
  return cpu;
}

}  // namespace paceline
