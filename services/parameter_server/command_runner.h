#ifndef PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_

#include "absl/status/statusor.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/parameter_server/server_metrics.h"
#include "services/parameter_server/shard.h"

namespace paceline {

// Carries out the coordinator's numbered commands on the shard.
// Thread-compatible.
class CommandRunner {
 public:
  CommandRunner(Shard* shard, ServerMetrics* metrics)
      : shard_(shard), metrics_(metrics) {}

  // The answer to send. INVALID_ARGUMENT for a command that is none, otherwise
  // the shard's error; a snapshot that is refused for its size is no error (the
  // evaluation will fail to find it), but is logged.
  absl::StatusOr<v1::CommandDone> Run(const v1::ServerCommand& command);

 private:
  absl::Status Host(const v1::HostJob& host);
  absl::Status Close(uint64_t sequence, const v1::CloseRound& close);

  Shard* const shard_;
  ServerMetrics* const metrics_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_
