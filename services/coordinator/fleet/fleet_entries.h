#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_ENTRIES_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_ENTRIES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/fleet/job_trouble.h"
#include "services/coordinator/run/job_run.h"

namespace paceline {

// What the fleet knows of a worker or evaluator.
struct WorkerEntry {
  v1::WorkerHello hello;
  std::weak_ptr<WorkerPeer> stream;
  absl::Time last_heard;
  absl::Time connect_time;
  bool going = false;  // Its process ends.
  bool leaving = false;
  absl::Time leaving_since;
  // Until ForgetJob(), or its process registers anew: that may have been
  // given what it lacked.
  std::map<std::string, JobTrouble> troubles;
  std::shared_ptr<JobRun> run;
  std::shared_ptr<RunSession> session;  // Null exactly if `run` is.
  absl::Time since;

  std::vector<v1::WireFormat> Formats() const;  // As it has named them.
  void EndSession();                            // It is in no run any more.
};

v1::Worker ToProto(const WorkerEntry& entry, bool draining);

// Of a parameter server.
struct ServerEntry {
  v1::ServerHello hello;
  std::weak_ptr<ServerPeer> stream;
  absl::Time last_heard;
  absl::Time connect_time;
  bool leaving = false;      // Its process ends.
  uint64_t replica_lag = 0;  // Heartbeat.replica_lag
  uint64_t link = 0;         // The last change of its link, and what it was.
  bool connected = true;
};

// But for what depends on others.
v1::Server ToProto(const ServerEntry& entry);

// The server with that number, as runs know it.
ServerLink LinkOf(uint64_t id, const v1::ServerHello& hello,
                  std::weak_ptr<ServerPeer> stream);

bool IsConnected(const std::weak_ptr<OpenStream>& stream);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_ENTRIES_H_
