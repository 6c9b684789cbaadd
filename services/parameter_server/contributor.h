#ifndef PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTOR_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/block_state.h"
#include "services/parameter_server/pulled_blocks.h"

namespace paceline {

// How far an iteration of one incarnation has come after a push.
struct PushOutcome {
  // All hosted blocks of the iteration have been taken, refused ones included:
  // the caller acknowledges the iteration.
  bool complete = false;
  // The ids of its blocks refused so far because a value was not finite.
  std::vector<uint32_t> refused;
};

// What had been taken of an incarnation when it was fenced.
struct FencedPush {
  int64_t iteration = 0;      // Its last one; 0 if it never pushed here.
  uint32_t blocks_taken = 0;  // Of that iteration, refused ones included.
  uint32_t blocks = 0;        // Hosted here.
  uint32_t samples = 0;       // Of that iteration, as it named them.

  friend bool operator==(const FencedPush&, const FencedPush&) = default;
};

// What has been taken of one incarnation's pushes: makes taking idempotent per
// iteration and block, and stops it for good at a fence. Thread-safe.
//
// A block goes untaken -> (Begin) being taken -> (Finish) taken, or back to
// untaken with Abandon. Begin waits for another thread that is taking the same
// block, so whoever repeats a push learns how it ended; Fence waits for all.
class Contributor {
 public:
  // `blocks` are hosted and known by their index below.
  explicit Contributor(uint32_t blocks) : blocks_(blocks) {}

  Contributor(const Contributor&) = delete;
  Contributor& operator=(const Contributor&) = delete;

  // Begins to take a block of a push of `samples`. Nothing: the caller applies
  // it and then calls Finish() or Abandon(). An outcome: it has been taken
  // before; do nothing. FAILED_PRECONDITION: a later iteration has begun; drop
  // this one. ABORTED: the incarnation is fenced; register again.
  absl::StatusOr<std::optional<PushOutcome>> Begin(int64_t iteration,
                                                   uint32_t index,
                                                   uint32_t samples);

  // Remembers what this incarnation was sent last.  REQUIRES: all blocks, by
  // index.
  void Keep(const PulledBlocks& pulled);
  // Null if nothing is kept.
  std::shared_ptr<const BlockState> Kept(uint32_t index);

  // The block has been applied, or refused as a whole; `id` names it outside.
  PushOutcome Finish(int64_t iteration, uint32_t index, uint32_t id,
                     bool refused);

  // The block could not be taken and may come again.
  void Abandon(uint32_t index);

  // Afterwards nothing of the incarnation is taken any more. Repeating it gives
  // the same answer.
  FencedPush Fence();

 private:
  struct Taking {
    int64_t iteration = 0;  // The last one of which the block was taken.
    bool busy = false;      // A thread is between Begin and Finish.
  };

  PushOutcome Outcome() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint32_t blocks_;

  absl::Mutex mu_;
  int64_t iteration_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t taken_ ABSL_GUARDED_BY(mu_) = 0;  // Of iteration_.
  uint32_t busy_ ABSL_GUARDED_BY(mu_) = 0;
  bool fenced_ ABSL_GUARDED_BY(mu_) = false;
  uint32_t samples_ ABSL_GUARDED_BY(mu_) = 0;           // Of iteration_.
  std::vector<uint32_t> refused_ ABSL_GUARDED_BY(mu_);  // Of iteration_.
  std::vector<PulledBlock> kept_ ABSL_GUARDED_BY(mu_);
  // Allocated by the first push, freed by the fence.
  std::vector<Taking> taking_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTOR_H_
