#ifndef PACELINE_COMMON_CHECKPOINT_EXPORT_CHECKPOINT_H_
#define PACELINE_COMMON_CHECKPOINT_EXPORT_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/safetensors/durable_file.h"

namespace paceline {

// Writes the model of a checkpoint, weights and statistics but no optimizer
// state, as one safetensors file with whole tensors by name and shape, in
// forward order. Equal weights give equal bytes, however they were saved. Takes
// about a megabyte of memory. Errors as CheckpointReader and SafetensorsWriter.
absl::StatusOr<WrittenFile> ExportCheckpoint(const std::string& folder,
                                             const std::string& out_file);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_EXPORT_CHECKPOINT_H_
