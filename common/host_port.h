#ifndef PACELINE_COMMON_HOST_PORT_H_
#define PACELINE_COMMON_HOST_PORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// An address as flags and gRPC write it, in its parts: "node7:80", "[::1]:80",
// ":80", "dns:///node7:80", "ipv6:%5B::1%5D:80".
struct HostPort {
  std::string host;  // Without brackets and the name of a resolver.
  // As it is written; nothing if the address has none.
  std::optional<std::string> port;
};

// What has several colons and no brackets is a bare IPv6 address, or a list:
// all of it is the host.
HostPort SplitHostPort(absl::string_view address);

// The number that `port` is, if it is one from 0 to 65535.
std::optional<uint16_t> ParsePort(absl::string_view port);

// INVALID_ARGUMENT if `address` has a port and that is none: gRPC would take
// 99999 for 34463. Addresses without one and Unix sockets are OK.
absl::Status CheckPort(absl::string_view address);

}  // namespace paceline

#endif  // PACELINE_COMMON_HOST_PORT_H_
