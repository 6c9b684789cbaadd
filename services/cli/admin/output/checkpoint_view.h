#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_CHECKPOINT_VIEW_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_CHECKPOINT_VIEW_H_

#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/output/table.h"

namespace paceline {

Table CheckpointTable(const std::vector<const v1::Checkpoint*>& checkpoints,
                      bool wide, absl::Time now);

// "READY"; a number for a state that this program does not know.
std::string StateText(v1::Checkpoint::State state);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_CHECKPOINT_VIEW_H_
