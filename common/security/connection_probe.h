#ifndef PACELINE_COMMON_SECURITY_CONNECTION_PROBE_H_
#define PACELINE_COMMON_SECURITY_CONNECTION_PROBE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/security/security.h"

namespace paceline {

// Why a client cannot connect to `address` ("host:port"), where it is a matter
// of credentials: of a handshake that fails gRPC says "Socket closed" at best.
// Makes a connection of its own for it, which says nothing but the handshake,
// and waits for the server's answer to that for at most `timeout` (the name's
// resolution not counted).
//
// The message names the flag that is missing or wrong:
//   UNAUTHENTICATED      reason NO_CREDENTIALS: the server wants TLS, or a
//                        certificate; BAD_CERTIFICATE: it does not take ours;
//                        SERVER_NOT_TRUSTED: we do not take its.
//   FAILED_PRECONDITION  reason NO_TLS: the server speaks none, and we do.
// OK if nothing of that is known; it may be away, or all may be well.
absl::Status ProbeConnection(const std::string& address,
                             const ClientSecurity& security,
                             absl::Duration timeout);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_CONNECTION_PROBE_H_
