#ifndef PACELINE_COMMON_RPC_GRPC_STATUS_H_
#define PACELINE_COMMON_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// `text` with a '?' for each byte that belongs to no UTF-8 character.
std::string ReplaceInvalidUtf8(absl::string_view text);

// `text` itself if it takes at most `max` bytes percent-encoded, as gRPC sends
// the message of an error; otherwise as many of its first characters as leave
// room for "..." at the end.
// REQUIRES: `text` is UTF-8; max >= 3.
std::string ShortenForHeader(absl::string_view text, size_t max);

// The only place where a domain error becomes a wire error and back. The two
// enums are numbered alike on purpose; this pins the last of them.
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) ==
              static_cast<int>(grpc::StatusCode::UNAUTHENTICATED));

// What message and details may take of the trailing metadata. Peers of every
// language refuse more than 8 KiB of it in all, and then report an error of
// their own instead of ours.
inline constexpr size_t kMaxTrailerBytes = 7 << 10;

// Payloads under "type.googleapis.com/..." (common/status_details.h) become the
// details of a google.rpc.Status, the ErrorInfo first, the others by name.
// What is too long is shortened: the message at its end; a BadRequest by its
// last violations, which are then counted; an ErrorInfo by its metadata;
// another detail is left out. Bytes that are no UTF-8 become '?'.
grpc::Status ToGrpc(const absl::Status& status);

// Details become payloads again. Details that cannot be read are ignored.
absl::Status FromGrpc(const grpc::Status& status);

// A status that travels inside a message, as a google.rpc.Code and a text.
inline absl::Status FromCode(int code, const std::string& message) {
  if (code < 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::UnknownError(message);
  }
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_GRPC_STATUS_H_
