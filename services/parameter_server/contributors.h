#ifndef PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTORS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/block_state.h"

namespace paceline {

// How far an iteration of one incarnation has come after a push.
struct PushOutcome {
  // All blocks of the iteration that are pushed here have been taken, refused
  // ones included: the caller acknowledges the iteration.
  bool complete = false;
  // The ids of its blocks refused so far because a value was not finite.
  std::vector<uint32_t> refused;
  // The sum of the squares of the iteration's gradient, as far as it was taken
  // here. Nothing: it is not known, because a block was refused or has come by
  // way of another server.
  std::optional<double> gradient_square = std::nullopt;
};

// What had been taken of an incarnation when it was fenced.
struct FencedPush {
  int64_t iteration = 0;      // Its last one; 0 if it never pushed here.
  uint32_t blocks_taken = 0;  // That iteration's, refused ones included.
  uint32_t blocks = 0;        // Hosted here, but for frozen ones.
  uint32_t samples = 0;       // That iteration's, as it named them.

  friend bool operator==(const FencedPush&, const FencedPush&) = default;
};

// What an incarnation pushed last for one block.
struct TakenBlock {
  uint64_t incarnation = 0;
  int64_t iteration = 0;
  uint32_t samples = 0;  // 0: the incarnation has begun a later iteration.
  bool refused = false;
};

// What has been taken of one incarnation's pushes: makes taking idempotent per
// iteration and block, and stops it for good at a fence. Thread-safe.
//
// A block goes untaken -> (Begin) being taken -> (Finish) taken; with End
// nobody is at it any more, and without Finish it is untaken again. Begin waits
// for another thread that is at the same block, so whoever repeats a push
// learns how it ended; Fence waits for all. Several threads may take blocks of
// one iteration: it is complete for the last of them that comes to its End, and
// so after everything that any of them had to do about a block.
class Contributor {
 public:
  // `blocks` are hosted and known by their index below; `pushed` of them are
  // not frozen.
  Contributor(uint32_t blocks, uint32_t pushed)
      : blocks_(blocks), pushed_(pushed) {}

  Contributor(const Contributor&) = delete;
  Contributor& operator=(const Contributor&) = delete;

  // Begins to take a block of a push of `samples`. Nothing: the caller applies
  // it, calls Finish(), and in any case End(). An outcome: it has been taken
  // before; do nothing. So it is with an iteration that was complete before a
  // later one began: what comes of it then was repeated on another stream.
  // FAILED_PRECONDITION: a later iteration has begun, and this one was never
  // complete; drop it. ABORTED: the incarnation is fenced; register again.
  absl::StatusOr<std::optional<PushOutcome>> Begin(int64_t iteration,
                                                   uint32_t index,
                                                   uint32_t samples);

  // Remembers what this incarnation is sent, in answer to `request`: `pulled`,
  // or what another thread has kept for that request before. Gives what it is.
  // REQUIRES: all blocks, by index.
  PulledBlocks Keep(uint64_t request, PulledBlocks pulled);
  // That, should it ask again: the answer may have come in part, and what was
  // kept is to be what it has. Nothing if the request is another, or none: 0.
  std::optional<PulledBlocks> KeptFor(uint64_t request);
  // Null if nothing is kept.
  std::shared_ptr<const BlockState> Kept(uint32_t index);

  // The block has been applied, or refused as a whole; `id` names it outside.
  // `square` is the sum of the squares of its gradient, 0 of other values;
  // nothing: it was refused. True: it was the last one of its iteration.
  bool Finish(int64_t iteration, uint32_t index, uint32_t id,
              std::optional<double> square);

  // All that is to be done about the block is done. Of an iteration that is not
  // the last one nothing is said.
  PushOutcome End(uint32_t index);

  // The last iteration of which a block was taken, of that incarnation.
  // Nothing if there is none. `id` names it outside.
  std::optional<TakenBlock> TakenOf(uint64_t incarnation, uint32_t index,
                                    uint32_t id) const;
  // At a backup: that was taken by the primary, at which they came in some
  // order. Nothing of a fenced incarnation is remembered.
  void Replay(uint32_t index, uint32_t id, const TakenBlock& taken);

  // At a backup: it was fenced at the primary, which gave that answer.
  void ReplayFence(const FencedPush& answer);

  // From now on nothing of the incarnation is taken. False if that was so
  // before.
  bool Refuse();
  // Refuse(), and waits for what is being taken. Repeating it gives the same
  // answer.
  FencedPush Fence();
  bool fenced() const {
    absl::MutexLock lock(&mu_);
    return fenced_;
  }

 private:
  struct Taking {
    int64_t iteration = 0;  // The last one of which the block was taken.
    bool busy = false;      // A thread is between Begin and End.
  };

  PushOutcome Outcome() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // One more block of iteration_ is taken. True: it was the last one.
  bool CountTaken() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint32_t blocks_;
  const uint32_t pushed_;

  mutable absl::Mutex mu_;
  int64_t iteration_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t taken_ ABSL_GUARDED_BY(mu_) = 0;     // Of iteration_.
  int64_t completed_ ABSL_GUARDED_BY(mu_) = 0;  // The last that was complete.
  uint32_t busy_ ABSL_GUARDED_BY(mu_) = 0;
  bool fenced_ ABSL_GUARDED_BY(mu_) = false;
  uint32_t samples_ ABSL_GUARDED_BY(mu_) = 0;           // Of iteration_.
  std::vector<uint32_t> refused_ ABSL_GUARDED_BY(mu_);  // Of iteration_.
  // Of iteration_; nothing once it cannot be known.
  std::optional<double> square_ ABSL_GUARDED_BY(mu_);
  PulledBlocks kept_ ABSL_GUARDED_BY(mu_);
  uint64_t kept_for_ ABSL_GUARDED_BY(mu_) = 0;  // The request.
  // Allocated by the first push, freed by the fence.
  std::vector<Taking> taking_ ABSL_GUARDED_BY(mu_);
};

// The incarnations that have pushed to one job, or were fenced in it. A fenced
// one is remembered for good, in a few words of memory. Thread-safe.
class Contributors {
 public:
  // `blocks` are hosted, `pushed` of them not frozen; at most `limit`
  // incarnations may push that are not fenced.
  Contributors(uint32_t blocks, uint32_t pushed, size_t limit)
      : blocks_(blocks), pushed_(pushed), limit_(limit) {}

  Contributors(const Contributors&) = delete;
  Contributors& operator=(const Contributors&) = delete;

  // The record of `incarnation`, made if this is its first push.
  // RESOURCE_EXHAUSTED if too many incarnations are unfenced.
  absl::StatusOr<std::shared_ptr<Contributor>> Find(uint64_t incarnation);

  // Contributor::Fence(), also for an incarnation that never pushed here.
  FencedPush Fence(uint64_t incarnation);

  // What each unfenced incarnation pushed last for a block.
  std::vector<TakenBlock> TakenOf(uint32_t index, uint32_t id) const;
  // The incarnations that are fenced, and with what answers.
  std::vector<std::pair<uint64_t, FencedPush>> Fenced() const;
  // At a backup: as Contributor::ReplayFence().
  void ReplayFence(uint64_t incarnation, const FencedPush& answer);

  bool IsFenced(uint64_t incarnation) const;

 private:
  const uint32_t blocks_;
  const uint32_t pushed_;
  const size_t limit_;

  mutable absl::Mutex mu_;
  size_t unfenced_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Contributor>> known_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTORS_H_
