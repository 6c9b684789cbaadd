#include "common/security/security.h"

#include <grpcpp/security/tls_credentials_options.h>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/security/loopback_address.h"
#include "common/security/token_table.h"
#include "common/status.h"

namespace paceline {
namespace {

absl::Status Wrong(absl::string_view text) {
  return absl::InvalidArgumentError(text);
}

absl::Status CheckTls(const TlsFiles& tls, bool insecure_plaintext) {
  if (!tls.cert.empty() && tls.key.empty()) {
    return Wrong("--tls-cert needs --tls-key, the certificate's key");
  }
  if (tls.cert.empty() && !tls.key.empty()) {
    return Wrong("--tls-key needs --tls-cert, the key's certificate");
  }
  if (insecure_plaintext && !(tls.cert.empty() && tls.ca.empty())) {
    return Wrong(
        "--insecure-plaintext contradicts --tls-cert and --tls-ca: leave it "
        "out for TLS");
  }
  return absl::OkStatus();
}

absl::Status Check(const ServerSecurityOptions& options) {
  const TlsFiles& tls = options.tls;
  PACELINE_RETURN_IF_ERROR(CheckTls(tls, options.insecure_plaintext));
  if (!tls.ca.empty() && tls.cert.empty()) {
    return Wrong(
        "--tls-ca needs --tls-cert and --tls-key: a server shows a "
        "certificate of its own");
  }
  const std::string& client_auth = options.tls_client_auth;
  if (!client_auth.empty() && client_auth != "require" &&
      client_auth != "optional") {
    return Wrong(
        absl::StrCat("--tls-client-auth must be require or optional, "
                     "not '",
                     client_auth, "'"));
  }
  if (!client_auth.empty() && tls.ca.empty()) {
    return Wrong(
        "--tls-client-auth needs --tls-ca, where the clients' certificates "
        "come from");
  }
  if (!tls.cert.empty() && tls.ca.empty() && options.token_file.empty()) {
    return Wrong(
        "--tls-cert needs --tls-ca or --token-file: nobody could show who "
        "they are");
  }
  return absl::OkStatus();
}

absl::Status Check(const ClientSecurityOptions& options) {
  const TlsFiles& tls = options.tls;
  PACELINE_RETURN_IF_ERROR(CheckTls(tls, options.insecure_plaintext));
  if (!tls.cert.empty() && tls.ca.empty()) {
    return Wrong(
        "--tls-cert needs --tls-ca, where the server's certificate comes from");
  }
  if (!options.tls_server_name.empty() && tls.ca.empty()) {
    return Wrong("--tls-server-name needs --tls-ca: there is no TLS without");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const CertificateWatch>> OpenTls(
    const TlsFiles& tls, absl::Duration interval) {
  if (tls.cert.empty() && tls.ca.empty()) return nullptr;
  return Annotate(CertificateWatch::Open(tls, interval),
                  "--tls-cert, --tls-key, --tls-ca");
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    const ServerSecurity& security) {
  if (security.tls == nullptr) return grpc::InsecureServerCredentials();
  grpc::experimental::TlsServerCredentialsOptions options(
      security.tls->MakeProvider());
  options.watch_identity_key_cert_pairs();
  if (security.tls->has_ca()) options.watch_root_certs();
  options.set_cert_request_type(
      !security.tls->has_ca() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
      : security.require_client_certificate
          ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
          : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(
    const ClientSecurity& security) {
  if (security.tls == nullptr) return grpc::InsecureChannelCredentials();
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(security.tls->MakeProvider());
  options.watch_root_certs();
  if (security.tls->has_identity()) options.watch_identity_key_cert_pairs();
  auto tls = grpc::experimental::TlsCredentials(options);
  if (security.token == nullptr) return tls;
  return grpc::CompositeChannelCredentials(tls,
                                           TokenCredentials(security.token));
}

absl::StatusOr<ServerSecurity> MakeServerSecurity(
    const ServerSecurityOptions& options) {
  PACELINE_RETURN_IF_ERROR(Check(options));
  ServerSecurity security;
  security.allow_plaintext = options.insecure_plaintext;
  security.require_client_certificate =
      !options.tls.ca.empty() && options.tls_client_auth != "optional";
  PACELINE_ASSIGN_OR_RETURN(security.tls,
                            OpenTls(options.tls, options.reload_interval));
  if (!options.token_file.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        security.tokens,
        Annotate(OpenTokenFile(options.token_file, options.reload_interval),
                 "--token-file"));
  }
  return security;
}

absl::StatusOr<ClientSecurity> MakeClientSecurity(
    const ClientSecurityOptions& options) {
  PACELINE_RETURN_IF_ERROR(Check(options));
  ClientSecurity security;
  security.allow_plaintext = options.insecure_plaintext;
  security.server_name = options.tls_server_name;
  PACELINE_ASSIGN_OR_RETURN(security.tls,
                            OpenTls(options.tls, options.reload_interval));
  if (!options.token_file.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        security.token,
        Annotate(OpenBearerToken(options.token_file, options.reload_interval),
                 "the token file"));
  }
  return security;
}

absl::Status CheckListenAddress(absl::string_view address,
                                const ServerSecurity& security) {
  PACELINE_RETURN_IF_ERROR(CheckPort(address));
  if (security.tls != nullptr || security.allow_plaintext ||
      IsLoopbackAddress(address)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "listening on ", address,
      " without TLS would let other machines in: give --tls-cert and "
      "--tls-key, or listen on 127.0.0.1, or say --insecure-plaintext"));
}

absl::Status CheckDialAddress(absl::string_view address,
                              const ClientSecurity& security) {
  PACELINE_RETURN_IF_ERROR(CheckPort(address));
  if (security.tls != nullptr || security.allow_plaintext ||
      IsLoopbackAddress(address)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "calling ", address,
      ", which may be another machine, without TLS: give --tls-ca, or say "
      "--insecure-plaintext"));
}

}  // namespace paceline
