#ifndef PACELINE_SERVICES_COORDINATOR_SERVER_GROUP_H_
#define PACELINE_SERVICES_COORDINATOR_SERVER_GROUP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/peer.h"

namespace paceline {

using ServerPeer = Peer<v1::ServerCommand>;

// The job's parameter servers. Commands to them are numbered, and every server
// gets all of them in the same order: closings, fences and snapshots mean the
// same everywhere.
//
// Thread-safe; its lock is a leaf.
class ServerGroup {
 public:
  explicit ServerGroup(size_t servers) : wanted_(servers) {}

  // Returns the server's index, from 0. FAILED_PRECONDITION if all have come,
  // INVALID_ARGUMENT without an address.
  absl::StatusOr<int> Register(const v1::ServerHello& hello, ServerPeer peer,
                               absl::Time now);

  // Numbers `command` and sends it to all; `each` may complete it per server.
  // Returns its sequence number.
  uint64_t Broadcast(
      v1::ServerCommand command,
      const std::function<void(int server, v1::ServerCommand&)>& each = {});

  // For what is not numbered: welcome, heartbeat, stop.
  void Send(int server, v1::ServerCommand command);
  void SendToAll(const v1::ServerCommand& command);

  // The server has carried out everything up to `sequence`.
  void Done(int server, uint64_t sequence);
  void Heard(int server, absl::Time now);

  bool AwaitAll(absl::Duration timeout) const;
  bool AwaitDone(uint64_t sequence, absl::Duration timeout) const;

  // Of the last command sent; 0 if there was none.
  uint64_t last_sequence() const;

  // Whether all servers have carried out `sequence`.
  bool AllDone(uint64_t sequence) const;

  size_t size() const { return wanted_; }
  size_t registered() const;
  std::string AddressOf(int server) const;
  std::string NameOf(int server) const;
  // The name of one that has not been heard since `since`; empty if none.
  std::string SilentSince(absl::Time since) const;

 private:
  struct Server {
    v1::ServerHello hello;
    ServerPeer peer;
    uint64_t done = 0;
    absl::Time last_heard;
  };

  bool AllDoneLocked(uint64_t sequence) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const size_t wanted_;
  mutable absl::Mutex mu_;
  std::vector<Server> servers_ ABSL_GUARDED_BY(mu_);
  uint64_t sequence_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SERVER_GROUP_H_
