#ifndef PACELINE_COMMON_SECURITY_CREDENTIALS_H_
#define PACELINE_COMMON_SECURITY_CREDENTIALS_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "common/security/security.h"

namespace paceline {

// What gRPC is told of a server's or client's security. TLS is 1.2 or later.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    const ServerSecurity& security);

// With the token, if there is TLS.
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(
    const ClientSecurity& security);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_CREDENTIALS_H_
