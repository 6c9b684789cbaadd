#include "services/simulator/server_load.h"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

Nanos TimeOf(double bytes, double bytes_per_second) {
  if (bytes_per_second == 0) return 0;
  return std::llround(std::ceil(bytes * 1e9 / bytes_per_second));
}

double Unless0(double bytes_per_second) {
  return bytes_per_second == 0 ? SharedLink::kUnlimited : bytes_per_second;
}

}  // namespace

ServerLoad::ServerLoad(const ClusterSpec& spec)
    : bytes_(static_cast<double>(spec.model_bytes) / spec.servers),
      copy_(TimeOf(bytes_, spec.server.copy_bytes_per_second)),
      update_(TimeOf(bytes_, spec.server.apply_bytes_per_second) +
              spec.server.update),
      shares_(spec.server.link_bytes_per_second > 0 && spec.model_bytes > 0),
      to_(Unless0(spec.server.link_bytes_per_second)),
      from_(Unless0(spec.server.link_bytes_per_second)) {}

void ServerLoad::Begin(Nanos now, Direction direction, uint32_t worker,
                       double most) {
  Of(direction).Begin(now, worker, bytes_, Unless0(most));
}

void ServerLoad::Stop(Nanos now, uint32_t worker) {
  if (!shares_) return;
  to_.Stop(now, worker);
  from_.Stop(now, worker);
}

Nanos ServerLoad::Serve(Nanos arrives, Nanos takes) {
  free_ = std::max(free_, arrives) + takes;
  return free_;
}

}  // namespace paceline
