#ifndef PACELINE_COMMON_SECURITY_LOOPBACK_ADDRESS_H_
#define PACELINE_COMMON_SECURITY_LOOPBACK_ADDRESS_H_

#include "absl/strings/string_view.h"

namespace paceline {

// Can nothing but this machine be at the other end of `address`? An address to
// listen on, a channel's target or a call's peer: "localhost:80", "127.0.0.1",
// "[::1]:80", "ipv6:%5B::1%5D:80", "dns:///localhost:80", "unix:/run/x".
// False where in doubt: other names, lists of addresses, "127.1".
bool IsLoopbackAddress(absl::string_view address);

// Does `address` stand for all of a machine's addresses? One can listen on it,
// but who dials it reaches at best itself: "0.0.0.0:80", "[::]:80", ":80".
bool IsWildcardAddress(absl::string_view address);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_LOOPBACK_ADDRESS_H_
