#include "common/connections/peer_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

std::string Ipv4(const void* ip, in_port_t port) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, ip, text, sizeof(text));
  return absl::StrCat("ipv4:", text, ":", ntohs(port));
}

}  // namespace

std::string PeerName(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in in = {};
    std::memcpy(&in, &address, sizeof(in));
    return Ipv4(&in.sin_addr, in.sin_port);
  }
  if (address.ss_family != AF_INET6) return "";
  sockaddr_in6 in = {};
  std::memcpy(&in, &address, sizeof(in));
  if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {
    return Ipv4(&in.sin6_addr.s6_addr[12], in.sin6_port);
  }
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof(text));
  // A link-local address is one only together with its interface.
  const std::string scope =
      in.sin6_scope_id == 0 ? "" : absl::StrCat("%25", in.sin6_scope_id);
  return absl::StrCat("ipv6:%5B", text, scope, "%5D:", ntohs(in.sin6_port));
}

}  // namespace paceline
