#ifndef PACELINE_COMMON_CHECKPOINT_VERIFY_CHECKPOINT_H_
#define PACELINE_COMMON_CHECKPOINT_VERIFY_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/manifest.h"

namespace paceline {

struct CheckpointReport {
  CheckpointManifest manifest;
  uint64_t bytes = 0;  // Of the files that were read.
  // Everything that is wrong, a sentence each, with the file that it is in;
  // none: the checkpoint can be restored.
  std::vector<std::string> problems;
};

// Reads a whole checkpoint: sizes, digests, headers, every entry that the
// manifest promises and no other, values that are not finite. Goes on after
// what it finds. Errors are those of ReadManifest() alone: without it there is
// nothing to compare with.
absl::StatusOr<CheckpointReport> VerifyCheckpoint(const std::string& folder);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_VERIFY_CHECKPOINT_H_
