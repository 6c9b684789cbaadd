#ifndef PACELINE_SERVICES_COORDINATOR_RUN_SERVER_GROUP_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_SERVER_GROUP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// A parameter server that a run may use.
struct ServerLink {
  uint64_t member = 0;  // Whom it is to the fleet.
  std::string name;
  std::string address;  // "host:port", for workers.
  // Queues a command to it; nothing happens once it is gone. Thread-safe.
  std::function<void(v1::ServerCommand)> send;
};

// The parameter servers of one run. Commands to them are numbered, and every
// server gets all of them in the same order: closings, fences and snapshots
// mean the same everywhere.
//
// Thread-safe; its lock is a leaf.
class ServerGroup {
 public:
  // `run` names the run to the servers. `clock` outlives the group.
  ServerGroup(uint64_t run, std::vector<ServerLink> servers,
              const Clock* clock);

  // Numbers `command` and sends it to all; `each` may complete it per server.
  // Returns its sequence number.
  uint64_t Broadcast(
      v1::ServerCommand command,
      const std::function<void(int server, v1::ServerCommand&)>& each = {});

  // For what is not numbered: unhost.
  void SendToAll(v1::ServerCommand command);

  // The server has carried out everything up to `sequence`.
  void Done(int server, uint64_t sequence);

  bool AwaitDone(uint64_t sequence, absl::Duration timeout) const;

  // Of the last command sent; 0 if there was none.
  uint64_t last_sequence() const;

  // Whether all servers have carried out `sequence`.
  bool AllDone(uint64_t sequence) const;

  // A server that has had commands to carry out for longer than `limit`
  // without having carried out one: it hangs, be it connected.
  std::optional<int> Stuck(absl::Duration limit) const;

  size_t size() const { return links_.size(); }
  // The index, from 0, of that member of the fleet, if it belongs to the run.
  std::optional<int> IndexOf(uint64_t member) const;
  const std::string& AddressOf(int server) const;
  const std::string& NameOf(int server) const;

 private:
  bool AllDoneLocked(uint64_t sequence) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const uint64_t run_;
  const std::vector<ServerLink> links_;
  const Clock* const clock_;
  mutable absl::Mutex mu_;
  std::vector<uint64_t> done_ ABSL_GUARDED_BY(mu_);
  // When each carried out its last command, or got one while it had none.
  std::vector<absl::Time> since_ ABSL_GUARDED_BY(mu_);
  uint64_t sequence_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_SERVER_GROUP_H_
