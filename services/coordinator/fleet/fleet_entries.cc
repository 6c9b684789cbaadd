#include "services/coordinator/fleet/fleet_entries.h"

#include <utility>

#include "common/proto_time.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {

std::vector<v1::WireFormat> WorkerEntry::Formats() const {
  std::vector<v1::WireFormat> formats;
  for (const int format : hello.formats()) {
    formats.push_back(static_cast<v1::WireFormat>(format));
  }
  return formats;
}

void WorkerEntry::EndSession() {
  if (session != nullptr) session->over = true;
  session.reset();
  run.reset();
}

v1::Worker ToProto(const WorkerEntry& entry, bool draining) {
  v1::Worker worker;
  worker.set_name(FormatWorkerName(entry.hello.name()));
  worker.set_pool(entry.hello.pool());
  worker.set_device(entry.hello.device());
  worker.set_gpu_model(entry.hello.gpu_model());
  worker.set_memory_bytes(entry.hello.memory_bytes());
  worker.set_compute_capability(entry.hello.compute_capability());
  worker.set_gpu_uuid(entry.hello.gpu_uuid());
  worker.set_evaluator(entry.hello.evaluator());
  *worker.mutable_programs() = entry.hello.programs();
  *worker.mutable_labels() = entry.hello.labels();
  worker.set_version(entry.hello.version());
  worker.set_draining(draining);
  if (entry.run != nullptr) worker.set_job(entry.run->job_name());
  *worker.mutable_connect_time() = ToProto(entry.connect_time);
  if (entry.leaving) {
    worker.set_state(v1::Worker::LEAVING);
  } else if (entry.run != nullptr) {
    worker.set_state(v1::Worker::ASSIGNED);
  } else {
    worker.set_state(draining ? v1::Worker::DRAINED : v1::Worker::IDLE);
  }
  return worker;
}

v1::Server ToProto(const ServerEntry& entry) {
  v1::Server server;
  server.set_name(FormatServerName(entry.hello.name()));
  server.set_address(entry.hello.address());
  server.set_failure_domain(entry.hello.failure_domain());
  server.set_leaving(entry.leaving);
  server.set_replica_lag(entry.replica_lag);
  server.set_version(entry.hello.version());
  *server.mutable_connect_time() = ToProto(entry.connect_time);
  return server;
}

ServerLink LinkOf(uint64_t id, const v1::ServerHello& hello,
                  std::weak_ptr<ServerPeer> stream) {
  return {id,
          hello.name(),
          hello.address(),
          std::move(stream),
          hello.failure_domain(),
          hello.replicates(),
          hello.max_bytes() > 0,
          hello.connections(),
          hello.drains_ahead()};
}

bool IsConnected(const std::weak_ptr<OpenStream>& stream) {
  const auto open = stream.lock();
  return open != nullptr && open->connected();
}

}  // namespace paceline
