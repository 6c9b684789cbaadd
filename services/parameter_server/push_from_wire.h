#ifndef PACELINE_SERVICES_PARAMETER_SERVER_PUSH_FROM_WIRE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_PUSH_FROM_WIRE_H_

#include <cstdint>

#include "protos/paceline/v1/parameters.pb.h"
#include "services/parameter_server/job_shard.h"

namespace paceline {

// A pushed block as the shard takes it; nothing in it is checked here.
inline PushBlock PushFromWire(const v1::PushBlock& wire, uint64_t incarnation) {
  PushBlock push;
  push.incarnation = incarnation;
  push.iteration = wire.iteration();
  push.block = wire.block();
  push.samples = wire.samples();
  push.weight = wire.weight();
  push.rate = wire.immediate_rate();
  push.round_plan = wire.has_round();
  push.round = wire.round();
  push.compensation = wire.compensation();
  return push;
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_PUSH_FROM_WIRE_H_
