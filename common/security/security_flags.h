#ifndef PACELINE_COMMON_SECURITY_SECURITY_FLAGS_H_
#define PACELINE_COMMON_SECURITY_SECURITY_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>

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
  absl::StatusOr<ServerSecurity> Server() const;
  absl::StatusOr<ClientSecurity> Client() const;

 private:
  TlsFiles tls_;
  bool insecure_plaintext_ = false;
  std::string tls_client_auth_;
  std::string token_file_;
  std::string tls_server_name_;
  std::string token_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_SECURITY_FLAGS_H_
