#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_SERVICE_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_SERVICE_H_

#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"
#include "services/coordinator/job_run.h"

namespace paceline {

// Fleet on the wire: turns streams into members of the job. Decides nothing.
class FleetService : public v1::Fleet::CallbackService {
 public:
  // Both outlive the service's server.
  FleetService(JobRun* job, StreamRegistry* streams)
      : job_(job), streams_(streams) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>* Worker(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::ServerMessage, v1::ServerCommand>* Server(
      grpc::CallbackServerContext* context) override;

 private:
  JobRun* const job_;
  StreamRegistry* const streams_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_SERVICE_H_
