#ifndef PACELINE_SERVICES_SIMULATOR_SERVER_LOAD_H_
#define PACELINE_SERVICES_SIMULATOR_SERVER_LOAD_H_

#include <cstdint>
#include <vector>

#include "services/coordinator/sync/core/types.h"
#include "services/simulator/cluster_spec.h"
#include "services/simulator/nanos.h"
#include "services/simulator/shared_link.h"

namespace paceline {

// The two directions of a server's link.
enum class Direction : uint8_t { kToServers, kFromServers };

// What keeps the servers of a virtual cluster busy: the pushes and pulls that
// they serve one after another, and the transfers that share their links. All
// servers stand alike and have equal parts of the model, so one of them stands
// for all. Thread-compatible.
class ServerLoad {
 public:
  explicit ServerLoad(const ClusterSpec& spec);

  bool takes_time() const { return shares_ || copy_ > 0 || update_ > 0; }

  // A push, the request of a pull, or a closing arrives. Returns when it is
  // served: those before it come first, also if it takes no time itself.
  // Called in the order of arrival.
  Nanos ServePush(Nanos arrives, const PushPlan& plan) {
    const bool applied = plan.kind == PushPlan::Kind::kImmediate;
    return Serve(arrives, copy_ + (applied ? update_ : 0));
  }
  Nanos ServePull(Nanos arrives) { return Serve(arrives, copy_); }
  Nanos ServeClosing(Nanos arrives) { return Serve(arrives, update_); }

  // Whether transfers share the servers' links. If not, they do not go through
  // here.
  bool shares() const { return shares_; }
  // The worker's part of the model sets out for one server, or from there. Its
  // own link takes at most `most` bytes a second; 0: infinitely many.
  // REQUIRES: shares(), and none of its transfers is under way there.
  void Begin(Nanos now, Direction direction, uint32_t worker, double most);
  // Its transfers are broken off, if there are any.
  void Stop(Nanos now, uint32_t worker);
  // When the next transfer ends there; kNever if none is under way.
  Nanos NextEnd(Direction direction) const { return Of(direction).NextEnd(); }
  // The workers whose transfers have ended by now, sorted.
  std::vector<uint32_t> TakeEnded(Nanos now, Direction direction) {
    return Of(direction).TakeEnded(now);
  }

 private:
  Nanos Serve(Nanos arrives, Nanos takes);

  SharedLink& Of(Direction direction) {
    return direction == Direction::kToServers ? to_ : from_;
  }
  const SharedLink& Of(Direction direction) const {
    return direction == Direction::kToServers ? to_ : from_;
  }

  const double bytes_;  // That a server has of the model.
  const Nanos copy_;    // What it takes to take or send that,
  const Nanos update_;  // and to apply it.
  const bool shares_;
  Nanos free_ = 0;  // When everything is served.
  SharedLink to_;
  SharedLink from_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_SERVER_LOAD_H_
