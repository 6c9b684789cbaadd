#ifndef PACELINE_COMMON_SECURITY_TOKEN_METADATA_H_
#define PACELINE_COMMON_SECURITY_TOKEN_METADATA_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>

#include "common/security/bearer_token.h"

namespace paceline {

// Puts the token into every call of a TLS channel.
std::shared_ptr<grpc::CallCredentials> TokenCredentials(
    std::shared_ptr<const BearerToken> token);

// The same for a channel without TLS, on which gRPC takes no CallCredentials.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
PlaintextToken(std::shared_ptr<const BearerToken> token);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_TOKEN_METADATA_H_
