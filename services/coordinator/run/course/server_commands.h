#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SERVER_COMMANDS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SERVER_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "services/coordinator/run/course/run_messages.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// The commands that a run gives its parameter servers: every shard's primary
// gets all of them, in one order and under one number, so that closings, fences
// and snapshots mean the same everywhere. This is the book of which shard has
// carried out what, for good: a command is kept until then, for the primary
// that may follow. Thread-compatible.
class ServerCommands {
 public:
  ServerCommands(size_t shards, absl::Time now);

  // The number of the next command, from 1, which goes out now. All but the
  // first remember of whom or what it is.
  uint64_t Next(absl::Time now);
  uint64_t NextFence(absl::Time now, WorkerId worker);
  uint64_t NextSnapshot(absl::Time now, int64_t snapshot);
  uint64_t NextClosing(absl::Time now, Closing closing);

  // One of these numbers has gone out.
  void Keep(const NumberedCommand& command) {
    kept_.emplace(command.sequence, command);
  }

  // The shard has carried out everything up to `sequence`.
  void Done(absl::Time now, int shard, uint64_t sequence);
  bool IsDone(int shard, uint64_t sequence) const {
    return sequence <= done_[shard].sequence;
  }
  // Whether whoever knows of everything up to `sequence` knows what the shard
  // has carried out.
  bool Reaches(int shard, uint64_t sequence) const {
    return sequence >= done_[shard].sequence;
  }
  // What a shard has carried out, for a server that begins it anew.
  struct Carried {
    uint64_t sequence = 0;
    Closing closing = 0;   // The last of them.
    int64_t snapshot = 0;  // The newest of them.
  };
  const Carried& CarriedOut(int shard) const { return done_[shard]; }
  // All shards have.
  bool AllDone(uint64_t sequence) const { return sequence <= all_done_; }
  // The last command; 0 if there was none.
  uint64_t last() const { return last_; }

  // What the shard has not carried out, for another primary: its time begins.
  std::vector<NumberedCommand> Reissue(absl::Time now, int shard);

  // Whose fence, or which snapshot, an open command is: one that some shard
  // has not carried out, or that was carried out in the present call. Nothing
  // if it is another command.
  std::optional<WorkerId> FenceOf(uint64_t sequence) const;
  std::optional<int64_t> SnapshotOf(uint64_t sequence) const;
  // The last closing up to that command; 0 if all of them were pruned.
  Closing ClosingUpTo(uint64_t sequence) const;
  // Forgets what all shards have carried out.
  void Prune();

  // A shard that has had commands to carry out for longer than `limit` without
  // having carried out one: its primary hangs, be it connected.
  std::optional<int> Stuck(absl::Time now, absl::Duration limit) const;

 private:
  uint64_t last_ = 0;
  uint64_t all_done_ = 0;      // The least of `done_`.
  std::vector<Carried> done_;  // By shard.
  // When each carried out its last command, or got one while it had none.
  std::vector<absl::Time> since_;
  std::map<uint64_t, WorkerId> fences_;
  std::map<uint64_t, int64_t> snapshots_;
  std::map<uint64_t, Closing> closings_;
  std::map<uint64_t, NumberedCommand> kept_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SERVER_COMMANDS_H_
