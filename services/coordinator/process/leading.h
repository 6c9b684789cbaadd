#ifndef PACELINE_SERVICES_COORDINATOR_PROCESS_LEADING_H_
#define PACELINE_SERVICES_COORDINATOR_PROCESS_LEADING_H_

#include "absl/status/status.h"
#include "services/coordinator/process/coordinator_process.h"

namespace paceline {

// Leads until the process is told to stop. `parts.election` has claimed the
// lead. Does not return if another coordinator leads from now on: the process
// ends at once, as if it were killed, because nothing of what it might still
// say is true any more.
absl::Status Lead(const ProcessParts& parts);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PROCESS_LEADING_H_
