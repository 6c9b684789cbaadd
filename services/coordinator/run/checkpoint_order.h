#ifndef PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_ORDER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_ORDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/policy/sync_core.h"
#include "services/coordinator/run/server_group.h"

namespace paceline {

// The checkpoint that the servers of a run are writing, at most one at a time:
// what it is of, and which of them have written. Thread-safe; its lock is a
// leaf but for the servers'.
class CheckpointOrder {
 public:
  struct Order {
    std::string id;
    std::string directory;  // Of this checkpoint.
    ResumePoint point;
    double seconds = 0;  // Of training, when it was asked for.
    absl::Time begun;
    int64_t version_at_completion = 0;
    std::vector<v1::CheckpointWritten> files;  // By server.
  };

  explicit CheckpointOrder(ServerGroup* servers) : servers_(servers) {}

  // Has the servers write their blocks as they are at this command; false if
  // one is being written. Only queues: may be called from
  // Engine::TakeResumePoint().
  bool Begin(const Order& order);

  // Server `server` has carried out a command, when `version` was counted.
  void CommandDone(uint64_t sequence, int64_t version);
  void Written(int server, const v1::CheckpointWritten& written);

  bool idle() const;
  // Waits until all servers have written or failed to; true if so, or if
  // nothing is being written.
  bool AwaitWritten(absl::Duration timeout) const;

  // Whether one has been written since before `time`.
  bool BegunBefore(absl::Time time) const;

  // Takes out what all servers have written, or have failed to: then `failure`
  // is why. Nothing while they write.
  std::optional<Order> TakeWritten(absl::Status& failure);

  // Those that still write: "s0, s1".
  std::string StillWriting() const;

  // Takes out what is of no use any more, if there is something; the answers of
  // those who still write will come to nothing.
  std::optional<Order> GiveUp();

 private:
  bool OverLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  ServerGroup* const servers_;
  mutable absl::Mutex mu_;
  std::optional<Order> order_ ABSL_GUARDED_BY(mu_);
  uint64_t sequence_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<bool> written_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_CHECKPOINT_ORDER_H_
