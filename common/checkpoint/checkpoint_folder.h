#ifndef PACELINE_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define PACELINE_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace paceline {

// Deletes a checkpoint, also one that was not finished: first the manifest, so
// that what is left after a crash is not taken for whole, then the files that
// one consists of, then the folder. NOT_FOUND: there is no such folder.
// FAILED_PRECONDITION: it holds something else too, which stays, and the folder
// with it. UNAVAILABLE: somebody wrote to it meanwhile, a server that has not
// heard yet that nobody wants it. Otherwise as FileStore.
absl::Status RemoveCheckpoint(const std::string& folder);

// `path` without links and dots, if it lies below `root`. INVALID_ARGUMENT if
// it does not, wherever it leads, or is neither absolute nor s3://. What is
// missing of `path` may still be missing.
absl::StatusOr<std::string> ResolveWithin(const std::string& root,
                                          const std::string& path);
// The same within one of several; without any, every absolute path and every
// s3://BUCKET/PREFIX is good, as it is. Takes as long as the disks take.
absl::StatusOr<std::string> ResolveWithinAny(
    const std::vector<std::string>& roots, const std::string& path);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_
