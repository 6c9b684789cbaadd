#ifndef PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "protos/paceline/v1/types.pb.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/run/course/checkpoint_writing.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/coordinator/run/course/model.h"
#include "services/coordinator/sync/core/placement.h"
#include "services/coordinator/sync/core/sample_dealer.h"

namespace paceline {

// What belongs to an order, as the API shows it; `name` is its id.
v1::Checkpoint ToCheckpoint(const CheckpointWriting::Order& order,
                            v1::Checkpoint::State state,
                            const absl::Status& failure);

// Completes the folder that the servers have written: from now on it is a
// checkpoint. `newest`: the newest evaluation. The codes are those of
// WriteManifest() (common/checkpoint/manifest.h).
absl::Status WriteCheckpointManifest(
    const CheckpointWriting::Order& order, const std::string& job_name,
    const v1::JobSpec& spec, const std::vector<ModelTensor>& tensors,
    const std::vector<BlockPlacement>& blocks,
    const std::optional<AccuracyPoint>& newest);

// Where a run begins that goes on from a checkpoint: the one in the folder. The
// codes are those of ReadManifest() (common/checkpoint/manifest.h).
absl::StatusOr<RunStart> ReadRunStart(const std::string& directory);

// Where a run begins that takes the weights of the checkpoint in the folder and
// nothing else. The codes are those of ReadManifest().
absl::StatusOr<RunStart> ReadInitialWeights(const std::string& directory);

v1::SamplePosition ToWire(const SamplePosition& position);
SamplePosition FromWire(const v1::SamplePosition& wire);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_FILES_H_
