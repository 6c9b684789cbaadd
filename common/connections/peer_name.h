#ifndef PACELINE_COMMON_CONNECTIONS_PEER_NAME_H_
#define PACELINE_COMMON_CONNECTIONS_PEER_NAME_H_

#include <sys/socket.h>

#include <string>

namespace paceline {

// An internet address as gRPC writes that of a call's peer:
// "ipv4:10.0.0.7:5123", also of an IPv4 address in IPv6's clothes, and
// "ipv6:%5B2001:db8::1%5D:5123". Empty for another family.
std::string PeerName(const sockaddr_storage& address);

}  // namespace paceline

#endif  // PACELINE_COMMON_CONNECTIONS_PEER_NAME_H_
