#ifndef PACELINE_COMMON_SECURITY_SECURITY_FLAGS_H_
#define PACELINE_COMMON_SECURITY_SECURITY_FLAGS_H_

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "common/security/security.h"

namespace paceline {

// The flags of a service's main that say how it knows its callers and servers:
//
//   --tls-cert --tls-key --tls-ca --insecure-plaintext   both sides
//   --tls-client-auth --token-file                       that of a server
//   --tls-server-name --token                            that of a client
//
// A process that is both has one certificate for both sides. Lives as long as
// the app parses. Thread-compatible.
class SecurityFlags {
 public:
  enum class Sides { kServer, kClient, kBoth };

  SecurityFlags(CLI::App& app, Sides sides);
  SecurityFlags(const SecurityFlags&) = delete;
  SecurityFlags& operator=(const SecurityFlags&) = delete;

  // After the parsing. The errors of MakeServerSecurity() and
  // MakeClientSecurity(), to be shown to whoever started the process.
  absl::StatusOr<ServerSecurity> Server() const {
    return MakeServerSecurity(server_);
  }
  absl::StatusOr<ClientSecurity> Client() const;

 private:
  ServerSecurityOptions server_;  // Also what both sides share.
  ClientSecurityOptions client_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_SECURITY_FLAGS_H_
