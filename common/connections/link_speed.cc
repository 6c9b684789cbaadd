#include "common/connections/link_speed.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

// Ours, by which a datagram to `peer` would go. Nothing is sent.
std::optional<sockaddr_storage> OwnAddress(const addrinfo& peer) {
  const UniqueFd fd(socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  if (fd.get() < 0 || connect(fd.get(), peer.ai_addr, peer.ai_addrlen) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return std::nullopt;
  }
  return own;
}

bool IsSameHost(const sockaddr_storage& a, const sockaddr& b) {
  if (a.ss_family != b.sa_family) return false;
  if (a.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  }
  return a.ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr,
                     sizeof(in6_addr)) == 0;
}

// Empty: none has that address.
std::string InterfaceOf(const sockaddr_storage& own) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, freeifaddrs);
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr != nullptr && IsSameHost(own, *it->ifa_addr)) {
      return it->ifa_name;
    }
  }
  return "";
}

}  // namespace

int64_t LinkSpeedTo(absl::string_view address) {
  const HostPort parts = SplitHostPort(address);
  const std::string host(parts.host);
  const std::string port = parts.port.value_or("");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return 0;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found,
                                                             freeaddrinfo);
  const auto own = OwnAddress(*found);
  return own.has_value() ? SpeedOfInterface(InterfaceOf(*own)) : 0;
}

int64_t SpeedOfInterface(absl::string_view name,
                         const std::string& interfaces) {
  std::ifstream file(absl::StrCat(interfaces, "/", name, "/speed"));
  std::string text;
  int64_t speed = 0;
  // Of an interface that is down or has none, the system says -1 or nothing.
  if (name.empty() || !std::getline(file, text) ||
      !absl::SimpleAtoi(text, &speed) || speed < 0) {
    return 0;
  }
  return speed;
}

}  // namespace paceline
