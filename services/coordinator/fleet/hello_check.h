#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_HELLO_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_HELLO_CHECK_H_

#include "absl/status/status.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Whether a member may be what it says. INVALID_ARGUMENT, naming the field.
absl::Status CheckHello(const v1::WorkerHello& hello);
absl::Status CheckHello(const v1::ServerHello& hello);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_HELLO_CHECK_H_
