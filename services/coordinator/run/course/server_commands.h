#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SERVER_COMMANDS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SERVER_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// The commands that a run gives its parameter servers: every server gets all of
// them, in one order and under one number, so that closings, fences and
// snapshots mean the same everywhere. This is the book of which server has
// carried out what. Thread-compatible.
class ServerCommands {
 public:
  ServerCommands(size_t servers, absl::Time now);

  // The number of the next command, from 1, which goes out now. All but the
  // first remember of whom or what it is.
  uint64_t Next(absl::Time now);
  uint64_t NextFence(absl::Time now, WorkerId worker);
  uint64_t NextSnapshot(absl::Time now, int64_t snapshot);
  uint64_t NextClosing(absl::Time now, Closing closing);

  // The server has carried out everything up to `sequence`.
  void Done(absl::Time now, int server, uint64_t sequence);
  // All servers have.
  bool AllDone(uint64_t sequence) const { return sequence <= all_done_; }
  // The last command; 0 if there was none.
  uint64_t last() const { return last_; }

  // Whose fence, or which snapshot, an open command is: one that some server
  // has not carried out, or that was carried out in the present call. Nothing
  // if it is another command.
  std::optional<WorkerId> FenceOf(uint64_t sequence) const;
  std::optional<int64_t> SnapshotOf(uint64_t sequence) const;
  // The last closing up to that command; 0 if all of them were pruned.
  Closing ClosingUpTo(uint64_t sequence) const;
  // Forgets what all servers have carried out.
  void Prune();

  // A server that has had commands to carry out for longer than `limit`
  // without having carried out one: it hangs, be it connected.
  std::optional<int> Stuck(absl::Time now, absl::Duration limit) const;

 private:
  uint64_t last_ = 0;
  uint64_t all_done_ = 0;       // The least of `done_`.
  std::vector<uint64_t> done_;  // By server.
  // When each carried out its last command, or got one while it had none.
  std::vector<absl::Time> since_;
  std::map<uint64_t, WorkerId> fences_;
  std::map<uint64_t, int64_t> snapshots_;
  std::map<uint64_t, Closing> closings_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SERVER_COMMANDS_H_
