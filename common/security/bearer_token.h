#ifndef PACELINE_COMMON_SECURITY_BEARER_TOKEN_H_
#define PACELINE_COMMON_SECURITY_BEARER_TOKEN_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/watched_file.h"

namespace paceline {

// The token in the text of a file: one word of visible ASCII characters, with
// or without white space around it. INVALID_ARGUMENT otherwise; the message
// does not repeat it.
absl::StatusOr<std::string> ParseBearerToken(absl::string_view text);

// A client's own token, which follows its file.
using BearerToken = WatchedFile<std::string>;

// The errors of ReadSmallFile() and ParseBearerToken(), with the path.
absl::StatusOr<std::shared_ptr<const BearerToken>> OpenBearerToken(
    const std::string& path, absl::Duration interval);

// Puts the token into every call of a TLS channel.
std::shared_ptr<grpc::CallCredentials> TokenCredentials(
    std::shared_ptr<const BearerToken> token);

// Adds the token on a channel without TLS, where gRPC takes no CallCredentials.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
PlaintextToken(std::shared_ptr<const BearerToken> token);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_BEARER_TOKEN_H_
