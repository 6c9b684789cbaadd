#ifndef PACELINE_SERVICES_COORDINATOR_PROCESS_STANDING_BY_H_
#define PACELINE_SERVICES_COORDINATOR_PROCESS_STANDING_BY_H_

#include "absl/status/statusor.h"
#include "services/coordinator/process/coordinator_process.h"

namespace paceline {

// Stands by until it is to lead: true, and `parts.election` has claimed the
// lead. False: the process was told to stop.
absl::StatusOr<bool> StandBy(const ProcessParts& parts);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PROCESS_STANDING_BY_H_
