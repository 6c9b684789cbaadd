#ifndef PACELINE_COMMON_OBJECT_STORE_S3_URI_H_
#define PACELINE_COMMON_OBJECT_STORE_S3_URI_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// A place in S3-compatible storage: s3://BUCKET or s3://BUCKET/KEY. What is
// below a key, KEY/NAME, is what lies in a folder.
struct S3Uri {
  std::string bucket;
  std::string key;  // Without a slash at either end; empty: the bucket itself.

  friend bool operator==(const S3Uri&, const S3Uri&) = default;
};

// Whether `path` is meant as one, right or wrong: it begins with "s3:".
bool IsS3Uri(absl::string_view path);

// INVALID_ARGUMENT, saying what is wrong: the scheme, a bucket that none can be
// called, a key with "." or "..", an empty part or a control character, or one
// too long for names below it. A slash at the end is taken off.
absl::StatusOr<S3Uri> ParseS3Uri(absl::string_view path);

// INVALID_ARGUMENT unless a folder of checkpoints can be there: an absolute
// path of a disk, or s3://BUCKET/PREFIX.
absl::Status CheckCheckpointPath(absl::string_view path);

// "s3://BUCKET/KEY".
std::string FormatS3Uri(const S3Uri& uri);

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_S3_URI_H_
