#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADER_LOCK_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADER_LOCK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace paceline {

// What all coordinators of a cluster agree on: one record, which is changed
// only by whoever has read it as it is.
struct LeaderRecord {
  std::string holder;   // The coordinator that leads, by its name.
  std::string address;  // Where it is: "host:port".
  uint64_t term = 0;    // Counts leaders; never issued again.
  // The one that has everything that the leader has promised: nobody but this
  // one may follow it. Empty: only the leader itself may go on.
  std::string standby;
  uint64_t beat = 0;      // Another one with each renewal.
  bool released = false;  // The leader has ended: the standby is to lead now.

  friend bool operator==(const LeaderRecord&, const LeaderRecord&) = default;
};

// A place that has that record, outside of all coordinators. Its answers may be
// late and its clock may be wrong: only the order of its changes counts.
// Thread-compatible. Calls wait, for a few seconds at most.
class LeaderLock {
 public:
  struct Seen {
    std::optional<LeaderRecord> record;  // Nothing: nobody has led yet.
    std::string version;                 // Of the record, for Write().
    // Its holder is known to be gone, without waiting for its lease.
    bool vacant = false;
  };

  virtual ~LeaderLock() = default;

  // UNAVAILABLE, or whatever keeps it from being read.
  virtual absl::StatusOr<Seen> Read() = 0;
  // The version of what is written. ABORTED: it is not what was read any more.
  // After another error nobody knows whether it was written.
  virtual absl::StatusOr<std::string> Write(const LeaderRecord& record,
                                            const std::string& version) = 0;

  // Clients are to find the coordinator of that name from now on, and no other.
  // The errors are for people: it leads all the same.
  virtual absl::Status Announce(const std::string& /*name*/) {
    return absl::OkStatus();
  }
  // They are not to find it any more.
  virtual absl::Status Withdraw(const std::string& /*name*/) {
    return absl::OkStatus();
  }
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADER_LOCK_H_
