#ifndef PACELINE_COMMON_CHECKPOINT_CHECKPOINT_TOOLS_H_
#define PACELINE_COMMON_CHECKPOINT_CHECKPOINT_TOOLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/manifest.h"
#include "common/safetensors/byte_stream.h"

namespace paceline {

struct CheckpointReport {
  CheckpointManifest manifest;
  uint64_t bytes = 0;  // The files that were read have so many.
  // Everything that is wrong, a sentence each, with the file that it is in;
  // none: the checkpoint can be restored.
  std::vector<std::string> problems;
};

// Reads a whole checkpoint: sizes, digests, headers, every entry that the
// manifest promises and no other, values that are not finite. Goes on after
// what it finds. Errors are those of ReadManifest() alone: without it there is
// nothing to compare with.
absl::StatusOr<CheckpointReport> VerifyCheckpoint(const std::string& folder);

// Writes the model of a checkpoint, weights and statistics but no optimizer
// state, as one safetensors file with whole tensors by name and shape, in
// forward order, and `metadata` in its header. Equal weights and metadata give
// equal bytes, however they were saved. Takes about a megabyte of memory.
// Errors as CheckpointReader and SafetensorsWriter.
absl::StatusOr<WrittenFile> ExportCheckpoint(
    const std::string& folder, const std::string& out_file,
    const std::map<std::string, std::string>& metadata = {});

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_CHECKPOINT_TOOLS_H_
