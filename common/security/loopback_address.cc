#include "common/security/loopback_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "common/host_port.h"

namespace paceline {
namespace {

// IPv4 as IPv6 writes it; nothing if `host` is no IP address.
std::optional<in6_addr> ParseIp(const std::string& host) {
  in6_addr ip = {};
  if (inet_pton(AF_INET6, host.c_str(), &ip) == 1) return ip;
  if (inet_pton(AF_INET, host.c_str(), &ip.s6_addr[12]) != 1) {
    return std::nullopt;
  }
  ip.s6_addr[10] = ip.s6_addr[11] = 0xff;
  return ip;
}

}  // namespace

bool IsLoopbackAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:") ||
      absl::StartsWith(address, "unix-abstract:")) {
    return true;
  }
  const std::string host = SplitHostPort(address).host;
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  const std::optional<in6_addr> ip = ParseIp(host);
  if (!ip.has_value()) return false;
  return IN6_IS_ADDR_V4MAPPED(&*ip) ? ip->s6_addr[12] == 127
                                    : IN6_IS_ADDR_LOOPBACK(&*ip);
}

bool IsWildcardAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix")) return false;
  const std::string host = SplitHostPort(address).host;
  if (host.empty() || host == "*") return true;
  const std::optional<in6_addr> ip = ParseIp(host);
  if (!ip.has_value()) return false;
  return IN6_IS_ADDR_V4MAPPED(&*ip)
             ? std::all_of(&ip->s6_addr[12], &ip->s6_addr[16],
                           [](uint8_t byte) { return byte == 0; })
             : IN6_IS_ADDR_UNSPECIFIED(&*ip);
}

}  // namespace paceline
