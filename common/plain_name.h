#ifndef PACELINE_COMMON_PLAIN_NAME_H_
#define PACELINE_COMMON_PLAIN_NAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The names of members, of pools and of those who hold certificates and tokens.
// They stand as they are in logs, on terminals and in the labels of metrics, so
// they hold nothing that any of these would take for something else.

// Bytes of the longest. So many of what else becomes a label are kept.
inline constexpr size_t kPlainNameMax = 63;

// What such a name has, for an error's text.
inline constexpr absl::string_view kPlainNameRule =
    "1 to 63 letters, digits, '-', '_' and '.', beginning with a letter or a "
    "digit";

bool IsPlainName(absl::string_view name);

// INVALID_ARGUMENT, with kPlainNameRule, unless `name` is one. `what` is what
// it was given as: "--name".
absl::Status CheckPlainName(absl::string_view what, absl::string_view name);

// The names of namespaces, jobs and checkpoints.
inline constexpr absl::string_view kIdRule =
    "1 to 63 lower-case letters, digits and '-', beginning with a letter and "
    "ending with a letter or a digit";

bool IsId(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_COMMON_PLAIN_NAME_H_
