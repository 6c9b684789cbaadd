#ifndef PACELINE_COMMON_RPC_WIRE_TEXT_H_
#define PACELINE_COMMON_RPC_WIRE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// `text` with a '?' for each byte that belongs to no UTF-8 character.
std::string ReplaceInvalidUtf8(absl::string_view text);

// `text` itself if it takes at most `max` bytes percent-encoded, as gRPC sends
// the message of an error; otherwise as many of its first characters as leave
// room for "..." at the end.
// REQUIRES: `text` is UTF-8; max >= 3.
std::string ShortenForHeader(absl::string_view text, size_t max);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_WIRE_TEXT_H_
