#ifndef PACELINE_COMMON_SAFETENSORS_FILE_ERROR_H_
#define PACELINE_COMMON_SAFETENSORS_FILE_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// What the system said when it could not do `doing` ("write FILE"):
// NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED (a read-only file system
// included), RESOURCE_EXHAUSTED for a full disk, a quota or too many open
// files, DATA_LOSS for a disk that fails, otherwise as absl::ErrnoToStatus().
absl::Status FileError(int error_number, absl::string_view doing);

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_FILE_ERROR_H_
