#ifndef PACELINE_COMMON_SECURITY_SECURITY_H_
#define PACELINE_COMMON_SECURITY_SECURITY_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/bearer_token.h"
#include "common/security/certificate_watch.h"
#include "common/security/tls_files.h"
#include "common/security/token_table.h"

namespace paceline {

// How often files are looked at again.
inline constexpr absl::Duration kReloadInterval = absl::Seconds(5);

// How a server knows its callers. Files are watched as long as a copy is there;
// a server that listens keeps one. As default: plaintext on loopback, where
// everybody may do everything.
struct ServerSecurity {
  std::shared_ptr<const CertificateWatch> tls;  // Null: plaintext.
  // With TLS and a CA: a connection without a certificate is refused.
  bool require_client_certificate = false;
  std::shared_ptr<const TokenFile> tokens;  // Null: no token is right.
  bool allow_plaintext = false;             // Also where others may listen.

  // Nobody can show who they are, so nobody has to.
  bool open() const { return tls == nullptr && tokens == nullptr; }
};

// How a client shows who it is, and knows its servers. Files are watched as
// long as a copy is there. As default: plaintext to loopback, without a token.
struct ClientSecurity {
  std::shared_ptr<const CertificateWatch> tls;  // Null: plaintext.
  std::string server_name;  // In the server's certificate; empty: the address.
  std::shared_ptr<const BearerToken> token;  // Null: none.
  bool allow_plaintext = false;              // Also to other machines.
};

// What somebody asked for. Every member stands for the flag of that name.
struct ServerSecurityOptions {
  TlsFiles tls = {};
  // "require", "optional" (also clients without one, who then need a token) or
  // "": required if there is a CA.
  std::string tls_client_auth = {};
  std::string token_file = {};
  bool insecure_plaintext = false;
  absl::Duration reload_interval = kReloadInterval;
};

struct ClientSecurityOptions {
  TlsFiles tls = {};
  std::string tls_server_name = {};
  std::string token_file = {};
  bool insecure_plaintext = false;
  absl::Duration reload_interval = kReloadInterval;
};

// Both name the flag that is wrong:
//   INVALID_ARGUMENT  contradictions, and files that are not what they should.
//   NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE  of the files.
absl::StatusOr<ServerSecurity> MakeServerSecurity(
    const ServerSecurityOptions& options);
absl::StatusOr<ClientSecurity> MakeClientSecurity(
    const ClientSecurityOptions& options);

// OK if the server may listen on `address`. INVALID_ARGUMENT for plaintext on
// an address that other machines can reach, unless that is allowed, and for a
// port that is none.
absl::Status CheckListenAddress(absl::string_view address,
                                const ServerSecurity& security);

// OK if the client may dial `address`. INVALID_ARGUMENT for plaintext to
// another machine, unless that is allowed, and for a port that is none.
absl::Status CheckDialAddress(absl::string_view address,
                              const ClientSecurity& security);

// What gRPC is told of a server's or client's security. TLS is 1.2 or later.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    const ServerSecurity& security);

// With the token, if there is TLS.
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(
    const ClientSecurity& security);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_SECURITY_H_
