#ifndef PACELINE_COMMON_PEER_USER_H_
#define PACELINE_COMMON_PEER_USER_H_

#include <sys/socket.h>
#include <unistd.h>

namespace paceline {

// Whether the kernel says that the other end of a Unix socket is of this user.
inline bool PeerIsThisUser(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

}  // namespace paceline

#endif  // PACELINE_COMMON_PEER_USER_H_
