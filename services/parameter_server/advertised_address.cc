#include "services/parameter_server/advertised_address.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/security/loopback_address.h"

namespace paceline {

absl::StatusOr<std::string> AdvertisedAddress(absl::string_view advertise,
                                              absl::string_view listening) {
  if (advertise.empty()) {
    if (!IsWildcardAddress(listening)) return std::string(listening);
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen ", listening,
        " is no address that workers can dial: say how they reach this server "
        "with --advertise HOST:PORT, a name or an IP address of this machine"));
  }
  const std::optional<uint16_t> port =
      ParsePort(SplitHostPort(advertise).port.value_or(""));
  if (IsWildcardAddress(advertise) || !port.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--advertise ", advertise,
        ": want HOST:PORT with a name or an IP address that workers can dial; "
        "port 0: the one that --listen has come to"));
  }
  if (*port != 0) return std::string(advertise);
  return absl::StrCat(advertise.substr(0, advertise.rfind(':')),
                      listening.substr(listening.rfind(':')));
}

}  // namespace paceline
