#ifndef PACELINE_SERVICES_COORDINATOR_RUN_RUN_START_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_RUN_START_H_

#include <string>

#include "absl/status/statusor.h"
#include "protos/paceline/v1/types.pb.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/coordinator/sync/core/sample_dealer.h"

namespace paceline {

// Where a run begins that goes on from a checkpoint: the one in the folder. The
// codes are those of ReadManifest() (common/checkpoint/manifest.h).
absl::StatusOr<RunStart> ReadRunStart(const std::string& directory);

v1::SamplePosition ToWire(const SamplePosition& position);
SamplePosition FromWire(const v1::SamplePosition& wire);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_RUN_START_H_
