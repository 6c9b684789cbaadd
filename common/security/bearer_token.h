#ifndef PACELINE_COMMON_SECURITY_BEARER_TOKEN_H_
#define PACELINE_COMMON_SECURITY_BEARER_TOKEN_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/security/small_file.h"

namespace paceline {

// The token in the text of a file: one word of visible ASCII characters, with
// or without white space around it. INVALID_ARGUMENT otherwise; the message
// does not repeat it.
absl::StatusOr<std::string> ParseBearerToken(absl::string_view text);

// A client's own token, from a file that is looked at again every `interval`.
// While the file is missing or malformed the token stays as it was, and a
// warning is logged once. Thread-safe.
class BearerToken {
 public:
  // The errors of ReadSmallFile() and ParseBearerToken(), with the path.
  static absl::StatusOr<std::shared_ptr<const BearerToken>> Open(
      const std::string& path, absl::Duration interval);

  // What the metadata `authorization` has to say: "Bearer TOKEN".
  std::string Authorization() const;

 private:
  BearerToken(std::string path, std::string token);

  void Look();

  const std::string path_;
  std::string complaint_;  // The thread's own.

  mutable absl::Mutex mu_;
  std::string token_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<Periodic> looking_;  // Ends before what it looks at.
};

// Puts the token into every call of a TLS channel.
std::shared_ptr<grpc::CallCredentials> TokenCredentials(
    std::shared_ptr<const BearerToken> token);

// Adds the token on a channel without TLS, where gRPC takes no CallCredentials.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
PlaintextToken(std::shared_ptr<const BearerToken> token);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_BEARER_TOKEN_H_
