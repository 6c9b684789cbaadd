#include "common/safetensors/file_error.h"

#include <cerrno>

namespace paceline {

absl::Status FileError(int error_number, absl::string_view doing) {
  const absl::Status status = absl::ErrnoToStatus(error_number, doing);
  switch (error_number) {
    case EIO:
      return absl::DataLossError(status.message());
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(status.message());
    case EROFS:
      return absl::PermissionDeniedError(status.message());
    default:
      return status;
  }
}

}  // namespace paceline
