#include "common/connections/tcp_listener.h"

#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/host_port.h"
#include "common/status.h"

namespace paceline {
namespace {

// The kernel takes no more than net.core.somaxconn.
constexpr int kBacklog = 4096;

// As long as gRPC lets a connection wait for an acknowledgement.
constexpr unsigned kUserTimeoutMs = 20'000;

struct Place {
  sockaddr_storage address = {};
  socklen_t size = 0;
};

in_port_t& PortOf(Place& place) {
  return place.address.ss_family == AF_INET6
             ? reinterpret_cast<sockaddr_in6&>(place.address).sin6_port
             : reinterpret_cast<sockaddr_in&>(place.address).sin_port;
}

bool IsWildcard(const Place& place) {
  if (place.address.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(place.address)
               .sin_addr.s_addr == htonl(INADDR_ANY);
  }
  return IN6_IS_ADDR_UNSPECIFIED(
      &reinterpret_cast<const sockaddr_in6&>(place.address).sin6_addr);
}

Place Wildcard(int family) {
  Place place;
  place.address.ss_family = static_cast<sa_family_t>(family);
  // Both wildcards are zeros.
  place.size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return place;
}

absl::Status Failed(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

bool Set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

// One socket at `place`, whose port becomes that of the socket.
absl::StatusOr<UniqueFd> ListenAt(Place& place) {
  UniqueFd socket(::socket(place.address.ss_family,
                           SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Failed("socket");
  const int fd = socket.get();
  if (place.address.ss_family == AF_INET6 && IsWildcard(place) &&
      !Set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0)) {
    return Failed("IPV6_V6ONLY");
  }
  // The connections inherit the last two.
  if (!Set(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
      !Set(fd, IPPROTO_TCP, TCP_NODELAY, 1) ||
      !Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs)) {
    return Failed("setsockopt");
  }
  auto* const address = reinterpret_cast<sockaddr*>(&place.address);
  if (bind(fd, address, place.size) != 0) return Failed("bind");
  if (listen(fd, kBacklog) != 0) return Failed("listen");
  if (getsockname(fd, address, &place.size) != 0) return Failed("getsockname");
  return socket;
}

absl::StatusOr<std::vector<Place>> Resolve(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat(host, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 &freeaddrinfo);
  std::vector<Place> places;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (at->ai_family != AF_INET && at->ai_family != AF_INET6) continue;
    Place& place = places.emplace_back();
    std::memcpy(&place.address, at->ai_addr, at->ai_addrlen);
    place.size = at->ai_addrlen;
  }
  // Every address of both families by one socket, where there are both.
  if (!places.empty() && IsWildcard(places.front())) {
    return std::vector<Place>{Wildcard(AF_INET6), Wildcard(AF_INET)};
  }
  return places;
}

}  // namespace

absl::StatusOr<TcpListener> ListenOnTcp(const std::string& address) {
  const HostPort parts = SplitHostPort(address);
  const std::optional<uint16_t> port = ParsePort(parts.port.value_or(""));
  if (parts.host.empty() || !port.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' is not host:port, [ip]:port"));
  }
  PACELINE_ASSIGN_OR_RETURN(std::vector<Place> places, Resolve(parts.host));
  TcpListener listener;
  listener.port = *port;
  absl::Status failed = absl::UnavailableError("the name has no address");
  for (Place& place : places) {
    const bool wildcard = IsWildcard(place);
    PortOf(place) = htons(static_cast<in_port_t>(listener.port));
    absl::StatusOr<UniqueFd> socket = ListenAt(place);
    if (!socket.ok()) {
      failed = socket.status();
      continue;
    }
    listener.sockets.push_back(*std::move(socket));
    listener.port = ntohs(PortOf(place));
    if (wildcard) break;
  }
  if (listener.sockets.empty()) return failed;
  return listener;
}

}  // namespace paceline
