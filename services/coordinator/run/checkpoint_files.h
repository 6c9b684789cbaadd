#ifndef PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/run/checkpoint_order.h"

namespace paceline {

// What belongs to an order, as the API shows it; `name` is its id.
v1::Checkpoint ToCheckpoint(const CheckpointOrder::Order& order,
                            v1::Checkpoint::State state,
                            const absl::Status& failure);

// Completes the folder that the servers have written: from now on it is a
// checkpoint. The codes are those of WriteManifest()
// (common/checkpoint/manifest.h).
absl::Status WriteCheckpointManifest(const CheckpointOrder::Order& order,
                                     const std::string& job_name,
                                     const v1::JobSpec& spec,
                                     const v1::WorkerReady& agreed,
                                     const std::vector<v1::Shard>& shards);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_
