#include "services/worker/device_info.h"

#include "absl/strings/str_cat.h"
#include "common/usable_memory.h"

namespace paceline {

absl::StatusOr<DeviceInfo> DescribeDevice(absl::string_view device) {
  if (device != "auto" && device != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("device \"", device, "\": want auto or cpu"));
  }
  return DeviceInfo{"cpu", "", UsableMemory("")};
}

}  // namespace paceline
