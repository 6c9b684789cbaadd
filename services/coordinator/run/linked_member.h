#ifndef PACELINE_SERVICES_COORDINATOR_RUN_LINKED_MEMBER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_LINKED_MEMBER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

class JobRun;

// A member's stream, to which a run sends its commands.
using WorkerPeer = OutgoingStream<v1::WorkerCommand>;

// A worker's or evaluator's part in one run, from its assignment until it has
// left: by it the run finds the stream, and the stream the run. Thread-safe.
struct RunSession {
  RunSession(std::weak_ptr<JobRun> its_run, WorkerId its_id,
             std::weak_ptr<WorkerPeer> its_stream)
      : run(std::move(its_run)),
        worker(its_id),
        stream(std::move(its_stream)) {}

  // Null once it is over: then the stream is for another run, or is gone.
  std::shared_ptr<WorkerPeer> Stream() const {
    return over ? nullptr : stream.lock();
  }

  const std::weak_ptr<JobRun> run;
  const WorkerId worker;  // In the run.
  const std::weak_ptr<WorkerPeer> stream;
  std::atomic<bool> over = false;
};

// How a member of a run is reached, and its labels.
struct LinkedMember {
  std::shared_ptr<const RunSession> session;
  std::string name;
  bool evaluator = false;
  std::string pool;
  std::string gpu_model;     // Of one without, its device.
  uint32_t connections = 0;  // It may open to one server.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_LINKED_MEMBER_H_
