#ifndef PACELINE_SERVICES_PARAMETER_SERVER_HOST_JOB_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_HOST_JOB_H_

#include "absl/status/statusor.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/parameter_server/shard_config.h"

namespace paceline {

// The job as the shard sees it. INVALID_ARGUMENT for a block outside its
// tensor, or of an impossible size, and for an optimizer or strength of rounds
// that is none.
absl::StatusOr<ShardConfig> ToShardConfig(const v1::HostJob& host);

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_HOST_JOB_H_
