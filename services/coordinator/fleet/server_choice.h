#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_SERVER_CHOICE_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_SERVER_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/job/paradigm_spec.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/run/run_servers.h"

namespace paceline {

// A parameter server that may get something of a run.
struct LoadedServer {
  uint64_t bytes = 0;  // Of the parameters that it has.
  ServerLink link;
};

// `count` of them, those with the fewest bytes, by name; 0: all. UNAVAILABLE if
// there are not so many.
absl::StatusOr<std::vector<ServerLink>> LeastLoaded(
    std::vector<LoadedServer> servers, uint32_t count);

// UNAVAILABLE if fewer of them take jobs. It says of each that stays why it
// does not.
absl::Status CheckEnough(const std::vector<v1::Server>& servers, size_t wanted);

// RESOURCE_EXHAUSTED if the server has no room for a job that needs so many
// bytes there under a paradigm, beside what other jobs have. One that does not
// say how much it has room for has it.
absl::Status CheckRoomOf(const v1::ServerHello& server, uint64_t needed,
                         uint64_t others, const ParadigmSpec& paradigm);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_SERVER_CHOICE_H_
