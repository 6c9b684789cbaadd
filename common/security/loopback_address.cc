#include "common/security/loopback_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace paceline {
namespace {

// The part before the port, without brackets.
absl::string_view HostOf(absl::string_view address) {
  if (absl::ConsumePrefix(&address, "[")) {
    return address.substr(0, address.find(']'));
  }
  // More than one colon: a bare IPv6 address, which has no port.
  if (std::count(address.begin(), address.end(), ':') > 1) return address;
  return address.substr(0, address.find(':'));
}

// `address` without the name of a resolver.
std::string WithoutScheme(absl::string_view address) {
  std::string plain =
      absl::StrReplaceAll(address, {{"%5B", "["}, {"%5D", "]"}});
  absl::string_view rest = plain;
  if (!absl::ConsumePrefix(&rest, "ipv4:") &&
      !absl::ConsumePrefix(&rest, "ipv6:") &&
      !absl::ConsumePrefix(&rest, "dns:///")) {
    absl::ConsumePrefix(&rest, "dns:");
  }
  return std::string(rest);
}

bool IsLoopbackHost(const std::string& host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  in6_addr v6;
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

bool IsLoopbackAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:") ||
      absl::StartsWith(address, "unix-abstract:")) {
    return true;
  }
  const std::string plain = WithoutScheme(address);
  return IsLoopbackHost(std::string(HostOf(plain)));
}

bool IsWildcardAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix")) return false;
  const std::string plain = WithoutScheme(address);
  const std::string host(HostOf(plain));
  if (host.empty() || host == "*") return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1)
    return v4.s_addr == INADDR_ANY;
  in6_addr v6;
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    return std::all_of(&v6.s6_addr[12], &v6.s6_addr[16],
                       [](uint8_t byte) { return byte == 0; });
  }
  return IN6_IS_ADDR_UNSPECIFIED(&v6);
}

}  // namespace paceline
