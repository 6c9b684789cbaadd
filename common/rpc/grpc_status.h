#ifndef PACELINE_COMMON_RPC_GRPC_STATUS_H_
#define PACELINE_COMMON_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace paceline {

// The only place where a domain error becomes a wire error and back. The two
// enums are numbered alike on purpose; this pins the last of them.
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) ==
              static_cast<int>(grpc::StatusCode::UNAUTHENTICATED));

inline grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()),
          std::string(status.message())};
}

inline absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

// A status that travels inside a message, as a google.rpc.Code and a text.
inline absl::Status FromCode(int code, const std::string& message) {
  if (code < 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::UnknownError(message);
  }
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_GRPC_STATUS_H_
