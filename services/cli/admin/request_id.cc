#include "services/cli/admin/request_id.h"

#include <random>

#include "absl/strings/str_format.h"

namespace paceline {

std::string UuidOf(uint64_t high, uint64_t low) {
  high = (high & ~uint64_t{0xF000}) | 0x4000;                // Version 4.
  low = (low & ~(uint64_t{3} << 62)) | (uint64_t{1} << 63);  // The variant.
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32,
                         (high >> 16) & 0xFFFF, high & 0xFFFF, low >> 48,
                         low & 0xFFFF'FFFF'FFFF);
}

std::string NewRequestId() {
  std::random_device device;
  const auto draw = [&] {
    const uint64_t upper = device();
    return upper << 32 | device();
  };
  const uint64_t high = draw();
  return UuidOf(high, draw());
}

}  // namespace paceline
