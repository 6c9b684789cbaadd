#ifndef PACELINE_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define PACELINE_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/manifest.h"

namespace paceline {

struct FoundCheckpoint {
  std::string folder;
  // What ReadManifest() gave.
  absl::StatusOr<CheckpointManifest> manifest;
};

// The checkpoints below `root`, or `root` itself, newest first, those whose
// manifest cannot be read last. Follows no links and looks ten folders deep.
// NOT_FOUND, PERMISSION_DENIED: `root` cannot be read.
absl::StatusOr<std::vector<FoundCheckpoint>> ListCheckpoints(
    const std::string& root);

// Deletes a checkpoint, also one that was not finished: first the manifest, so
// that what is left after a crash is not taken for whole, then the files that
// one consists of, then the folder. NOT_FOUND: there is no such folder.
// FAILED_PRECONDITION: it holds something else too, which stays, and the folder
// with it. Otherwise as FileError().
absl::Status RemoveCheckpoint(const std::string& folder);

// `path` without links and dots, if it lies below `root`. INVALID_ARGUMENT if
// it does not, wherever it leads, or is not absolute. What is missing of `path`
// may still be missing.
absl::StatusOr<std::string> ResolveWithin(const std::string& root,
                                          const std::string& path);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_
