#ifndef PACELINE_COMMON_CONNECTIONS_LINK_SPEED_H_
#define PACELINE_COMMON_CONNECTIONS_LINK_SPEED_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// The speed in Mb/s of the interface by which this machine reaches `address`
// ("host:port"), as the system says it: that of loopback, of many virtual ones
// and of an address that cannot be resolved is not known, and is 0. Looks a
// name up once, as long as the system's resolver takes for that.
int64_t LinkSpeedTo(absl::string_view address);

// Of the interface with that name.  `interfaces` is where the system has them.
int64_t SpeedOfInterface(absl::string_view name,
                         const std::string& interfaces = "/sys/class/net");

}  // namespace paceline

#endif  // PACELINE_COMMON_CONNECTIONS_LINK_SPEED_H_
