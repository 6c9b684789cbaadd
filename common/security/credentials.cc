#include "common/security/credentials.h"

#include <grpcpp/security/tls_credentials_options.h>

#include "common/security/token_metadata.h"

namespace paceline {

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

}  // namespace paceline
