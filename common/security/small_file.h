#ifndef PACELINE_COMMON_SECURITY_SMALL_FILE_H_
#define PACELINE_COMMON_SECURITY_SMALL_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace paceline {

// The whole content of a file of certificates or tokens. The errors name it:
//   NOT_FOUND          it does not exist.
//   PERMISSION_DENIED  it may not be read.
//   INVALID_ARGUMENT   it is no ordinary file, empty, or larger than 1 MiB.
//   UNAVAILABLE        reading fails.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_SMALL_FILE_H_
