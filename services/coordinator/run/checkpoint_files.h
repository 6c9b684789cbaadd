#ifndef PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/run/course/checkpoint_writing.h"
#include "services/coordinator/run/course/model.h"
#include "services/coordinator/sync/core/placement.h"

namespace paceline {

// What belongs to an order, as the API shows it; `name` is its id.
v1::Checkpoint ToCheckpoint(const CheckpointWriting::Order& order,
                            v1::Checkpoint::State state,
                            const absl::Status& failure);

// Completes the folder that the servers have written: from now on it is a
// checkpoint. The codes are those of WriteManifest()
// (common/checkpoint/manifest.h).
absl::Status WriteCheckpointManifest(const CheckpointWriting::Order& order,
                                     const std::string& job_name,
                                     const v1::JobSpec& spec,
                                     const std::vector<ModelTensor>& tensors,
                                     const std::vector<BlockPlacement>& blocks);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_
