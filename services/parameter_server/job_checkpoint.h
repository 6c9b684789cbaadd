#ifndef PACELINE_SERVICES_PARAMETER_SERVER_JOB_CHECKPOINT_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_JOB_CHECKPOINT_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/safetensors/durable_file.h"
#include "services/parameter_server/block_state.h"
#include "services/parameter_server/job_shard.h"
#include "services/parameter_server/shard_config.h"

namespace paceline {

// Writes what a snapshot of a job's blocks refers to as one file of a
// checkpoint (common/checkpoint/shard_file.h). Errors as WriteShardFile().
// REQUIRES: the snapshot is one of a job with this config.
absl::StatusOr<WrittenFile> WriteSnapshot(
    const ShardConfig& config, const PulledBlocks& snapshot,
    const std::string& path, const std::function<bool()>& cancelled);

// Sets all blocks of a job as they were saved, whatever servers and blocks they
// were saved from. FAILED_PRECONDITION: the checkpoint is of another model or
// optimizer, or training has begun. INVALID_ARGUMENT: a value that is not
// finite. Otherwise as CheckpointReader.
absl::Status RestoreJob(JobShard& job, const std::string& folder,
                        const std::function<bool()>& cancelled);

// Gives all blocks of a job the weights that the checkpoint has under the same
// names, whatever job it is of. Errors as RestoreJob().
absl::Status SetInitialWeights(JobShard& job, const std::string& folder,
                               const std::function<bool()>& cancelled);

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_JOB_CHECKPOINT_H_
