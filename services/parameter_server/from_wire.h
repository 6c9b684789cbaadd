#ifndef PACELINE_SERVICES_PARAMETER_SERVER_FROM_WIRE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_FROM_WIRE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/parameters.pb.h"
#include "services/parameter_server/job_shard.h"
#include "services/parameter_server/shard_config.h"

namespace paceline {

// The job as the shard sees it. INVALID_ARGUMENT for a block outside its
// tensor, or of an impossible size, and for an optimizer or strength of rounds
// that is none.
absl::StatusOr<ShardConfig> ToShardConfig(const v1::HostJob& host);

// A pushed block as the shard takes it; nothing in it is checked here.
inline PushBlock PushFromWire(const v1::PushBlock& wire, uint64_t incarnation) {
  PushBlock push;
  push.incarnation = incarnation;
  push.iteration = wire.iteration();
  push.block = wire.block();
  push.samples = wire.samples();
  push.weight = wire.weight();
  push.rate = wire.immediate_rate();
  push.rated_at = wire.rated_at();
  if (wire.has_momentum()) push.momentum = wire.momentum();
  push.round_plan = wire.has_round();
  push.round = wire.round();
  push.compensation.lambda = wire.compensation();
  if (wire.has_compensation_memory()) {
    push.compensation.memory = wire.compensation_memory();
  }
  return push;
}

inline AnnouncedClosing ClosingFromWire(const v1::AnnounceClosing& wire) {
  return {.closing = wire.closing(),
          .round = wire.round(),
          .gradients = wire.gradients(),
          .rate = wire.rate()};
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_FROM_WIRE_H_
