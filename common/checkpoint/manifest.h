#ifndef PACELINE_COMMON_CHECKPOINT_MANIFEST_H_
#define PACELINE_COMMON_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/tensor/tensor_kind.h"

namespace paceline {

// A checkpoint is a folder:
//   manifest.json               what it is of, and which file holds what
//   server-0-of-2.safetensors   the blocks that one server held (shard_file.h)
//   server-1-of-2.safetensors
// or a prefix in a bucket with such objects. The manifest is written last, and
// is there whole or not at all: where there is one, the checkpoint is complete.

inline constexpr absl::string_view kManifestName = "manifest.json";
inline constexpr int kManifestVersion = 1;

// "server-0-of-2.safetensors".
std::string ShardFileName(size_t server, size_t servers);

// One file of the folder.
struct CheckpointFile {
  std::string name;  // Without a folder.
  uint64_t bytes = 0;
  std::string sha256;  // In hexadecimal.

  friend bool operator==(const CheckpointFile&,
                         const CheckpointFile&) = default;
};

// One named tensor of the model, in forward order.
struct CheckpointTensor {
  std::string name;
  std::vector<int64_t> shape;
  TensorKind kind = TensorKind::kTrained;  // Others have no slots.

  friend bool operator==(const CheckpointTensor&,
                         const CheckpointTensor&) = default;
};

// A run of one tensor's elements, and which file holds it.
struct CheckpointBlock {
  uint32_t id = 0;
  uint32_t tensor = 0;  // Index into the tensors.
  uint64_t offset = 0;  // First element, within the tensor.
  uint64_t size = 0;    // In elements.
  uint32_t file = 0;    // Index into the files.

  friend bool operator==(const CheckpointBlock&,
                         const CheckpointBlock&) = default;
};

struct CheckpointManifest {
  std::string paceline_version;  // The version that wrote it.
  std::string job;               // "namespaces/default/jobs/mnist"
  std::string spec_json = "{}";  // v1.JobSpec, as proto JSON.
  absl::Time create_time = absl::UnixEpoch();
  double seconds = 0;  // Training took so long, from the first grant on.
  // The job's version when the snapshot was asked for, and when the last server
  // had taken it.
  int64_t version = 0;
  int64_t version_at_completion = 0;
  int64_t samples = 0;               // Counted.
  bool exact = false;                // Nothing was in flight.
  std::string position_json = "{}";  // v1.SamplePosition, as proto JSON.
  // The newest evaluation that was there when the manifest was written: after
  // how many `samples` it was, and what it measured ("accuracy", "loss", ...).
  std::string evaluation_json = "{}";
  // What the optimizer keeps for every trained element: nothing, "momentum", or
  // "m" and "v" (OptimizerSlotNames()).
  std::vector<std::string> optimizer_slots;
  std::vector<CheckpointTensor> tensors;
  std::vector<CheckpointBlock> blocks;
  std::vector<CheckpointFile> files;

  friend bool operator==(const CheckpointManifest&,
                         const CheckpointManifest&) = default;
};

// Elements.  REQUIRES: the tensor is a valid manifest's.
uint64_t TensorSize(const CheckpointTensor& tensor);

// INVALID_ARGUMENT, naming the field, unless the blocks cover every tensor
// exactly, indices are in range, names are plain and used once, digests are
// digests, numbers are possible and the two JSON texts are objects.
absl::Status CheckManifest(const CheckpointManifest& manifest);

// The manifest's JSON. INVALID_ARGUMENT as CheckManifest().
absl::StatusOr<std::string> FormatManifest(const CheckpointManifest& manifest);

// The reverse; unknown fields are ignored. FAILED_PRECONDITION if a newer
// paceline has written it, DATA_LOSS for everything else that is wrong.
absl::StatusOr<CheckpointManifest> ParseManifest(absl::string_view json);

// NOT_FOUND if the folder has no manifest: it is no checkpoint, or was not
// finished. Otherwise as ParseManifest() and FileStore.
absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& folder);

// Completes a checkpoint whose files are all written. INVALID_ARGUMENT as
// CheckManifest(); FAILED_PRECONDITION if a file is missing or has another
// size; otherwise as FileStore.
absl::Status WriteManifest(const std::string& folder,
                           const CheckpointManifest& manifest);

// INVALID_ARGUMENT unless `name` is a plain file name that ends in
// ".safetensors": letters, digits, '-', '_' and '.', not hidden, at most 200
// characters. So nothing outside the folder, or beside a checkpoint in it, can
// be named.
absl::Status CheckFileName(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_MANIFEST_H_
