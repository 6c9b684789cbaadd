#ifndef PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_LOG_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/replica_entry.h"

namespace paceline {

// What a shard's primary has taken, in one order, on its way to the backup; and
// whoever is to be told that it is taken, which is true once the backup has it.
//
// Without a backup everybody is told at once, unless that is held back. A
// backup *follows* from some place on: first comes all that the primary has,
// then `filled`, and changes in between. A backup whose stream broke follows no
// more, and until the coordinator has said who follows now nobody is told
// anything: that backup may have been promoted, and would not know.
//
// Whoever was told while a backup was being filled was told of what comes
// behind `filled`: the backup is complete once it has that too.
//
// Thread-safe. Callbacks are called without its lock, in the order in which
// they came, by whichever thread makes them due; they must not block.
class ReplicaLog {
 public:
  using Callback = absl::AnyInvocable<void()>;

  // What may wait to be sent, in bytes of gradients.
  explicit ReplicaLog(size_t max_waiting_bytes = size_t{64} << 20)
      : max_waiting_bytes_(max_waiting_bytes) {}
  ReplicaLog(const ReplicaLog&) = delete;
  ReplicaLog& operator=(const ReplicaLog&) = delete;

  // A backup is to follow from here on, in place of the one before; `wake` is
  // called when there is something to take. `hold`: until it has everything
  // nobody is told. Gives the number of this following.
  uint64_t Begin(bool hold, std::function<void()> wake);
  // None follows. What waits is told, or with `hold` waits on.
  void End(bool hold);
  // The stream to the backup broke.
  void Suspend(uint64_t following);
  // Another server is the primary: what waits is dropped, and whatever comes.
  void Close();

  // The number of the present following; 0: none follows.
  uint64_t following() const {
    return following_.load(std::memory_order_relaxed);
  }

  // Dropped if another backup follows, or none. `acknowledge`: WhenHeld() will
  // be asked.
  void Append(uint64_t following, ReplicaEntry entry, bool acknowledge = false);

  // Calls once the backup has everything that was appended so far.
  void WhenHeld(Callback told);

  // True, and calls later, if too much waits to be sent; else false.
  bool AwaitRoom(Callback room);

  struct Outgoing {
    ReplicaEntry entry;
    bool acknowledge = false;
  };
  // The next entry of that following's stream. Nothing for now, or at all.
  std::optional<Outgoing> Take(uint64_t following);
  // The backup has the first `entries` entries. True: with that it has become
  // complete. INVALID_ARGUMENT if there were not so many. FAILED_PRECONDITION:
  // it does not follow any more.
  absl::StatusOr<bool> Acknowledged(uint64_t following, uint64_t entries);

  // Whether an entry that it was sent is to be acknowledged and is not.
  bool awaits_acknowledgement() const;
  // Entries that the backup is not known to have.
  size_t lag() const;

 private:
  enum class State : uint8_t {
    kAlone,       // No backup: told at once.
    kHeld,        // The same, but nobody is told.
    kFilling,     // Told at once, or not, as `hold_` says.
    kReplicated,  // Told once the backup has it, which may not be complete.
    kSuspended,   // Nobody is told.
    kClosed,
  };
  struct Waiting {
    uint64_t position;
    Callback told;
  };
  using Due = std::vector<Callback>;

  bool TellsAtOnce() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return state_ == State::kAlone || (state_ == State::kFilling && !hold_);
  }
  // Takes those out who wait for a place up to `position`.
  void Release(uint64_t position, Due& due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropQueue(Due& due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Push(ReplicaEntry entry, bool acknowledge)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sees to it that the last entry is acknowledged. Gives whom to wake.
  std::function<void()> Mark() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Call(Due due);

  const size_t max_waiting_bytes_;
  std::atomic<uint64_t> following_ = 0;

  mutable absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kAlone;
  bool hold_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t followings_ ABSL_GUARDED_BY(mu_) = 0;
  std::function<void()> wake_ ABSL_GUARDED_BY(mu_);
  // Places in the log, counted over all followings.
  uint64_t begin_ ABSL_GUARDED_BY(mu_) = 0;  // Of the present one.
  uint64_t end_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t held_ ABSL_GUARDED_BY(mu_) = 0;    // By the backup, up to there.
  uint64_t filled_ ABSL_GUARDED_BY(mu_) = 0;  // Behind `filled`; 0: not yet.
  uint64_t asked_ ABSL_GUARDED_BY(mu_) = 0;   // Sent, to be acknowledged.
  // With this the backup is complete; 0: it is, or is not filled yet.
  uint64_t complete_at_ ABSL_GUARDED_BY(mu_) = 0;
  bool last_acknowledges_ ABSL_GUARDED_BY(mu_) = false;
  size_t unasked_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Outgoing> queue_ ABSL_GUARDED_BY(mu_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  Due want_room_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_LOG_H_
