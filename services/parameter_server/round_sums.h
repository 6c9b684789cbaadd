#ifndef PACELINE_SERVICES_PARAMETER_SERVER_ROUND_SUMS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_ROUND_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "common/tensor/payload.h"
#include "services/parameter_server/block_state.h"

namespace paceline {

// Bounds the memory that a job's accumulators take: counts, for each round,
// the blocks that hold one. Thread-safe.
class OpenRounds {
 public:
  // `limit` rounds may have accumulators at once.
  explicit OpenRounds(size_t limit) : limit_(limit) {}

  OpenRounds(const OpenRounds&) = delete;
  OpenRounds& operator=(const OpenRounds&) = delete;

  // A block is about to allocate its accumulator for `round`.
  // RESOURCE_EXHAUSTED if that would open one round too many.
  absl::Status Open(uint64_t round);

  // A block has drained its accumulator.  REQUIRES: it had opened it.
  void Close(uint64_t round);

  size_t size() const;

 private:
  const size_t limit_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<uint64_t, uint64_t> blocks_ ABSL_GUARDED_BY(mu_);
};

// What one block has gathered for rounds.
struct RoundSum {
  uint64_t samples = 0;  // sum(n)
  FloatBuffer sum;       // sum(n * u * g), of the block's size.
  // How many it is the sum of, as far as this server has added them up itself.
  uint32_t gradients = 0;
};

// One block's accumulators: made on a round's first arrival, handed out and
// forgotten when the round is drained. What arrives for the same round later
// gathers anew and waits for a further drain. Thread-safe.
//
// One drained buffer a block may be kept for the next round: where rounds
// follow each other, fresh memory from the system costs four times the
// arithmetic (block_update_bench, BM_PushRoundAndClose).
class RoundSums {
 public:
  // `open` counts the job's rounds and outlives this.
  RoundSums(size_t size, OpenRounds* open) : size_(size), open_(open) {}

  RoundSums(const RoundSums&) = delete;
  RoundSums& operator=(const RoundSums&) = delete;

  // Adds factor * gradient and `samples` to the round's accumulator.
  // RESOURCE_EXHAUSTED, and nothing added, if too many rounds are open.
  // REQUIRES: `gradient` has the block's size.
  absl::Status Add(uint64_t round, uint32_t samples, float factor,
                   const Payload& gradient, DType dtype);

  // How many gradients Add() has added to the round since its last drain.
  uint32_t GradientsOf(uint64_t round) const;

  // Takes the accumulators of `rounds` away, summed in the order of `rounds`.
  // Nothing if none of them has received anything since its last drain.
  std::optional<RoundSum> Drain(absl::Span<const uint64_t> rounds);

  // A copy of what each open round has gathered.
  std::vector<std::pair<uint64_t, RoundSum>> Copy() const;
  // Sets what a round has gathered, as another server has it.
  // RESOURCE_EXHAUSTED as Add().  REQUIRES: of the block's size; the round has
  // nothing yet.
  absl::Status Put(uint64_t round, RoundSum gathered);

  // Gives back the buffer that Drain() handed out.
  void Recycle(FloatBuffer buffer);

 private:
  struct Accumulator {
    uint64_t round;
    RoundSum gathered;
  };

  // The accumulator of `round`, taken out; null if there is none.
  std::optional<RoundSum> Take(uint64_t round);

  const size_t size_;
  OpenRounds* const open_;

  mutable absl::Mutex mu_;
  FloatBuffer spare_ ABSL_GUARDED_BY(mu_);
  absl::InlinedVector<Accumulator, 2> accumulators_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_ROUND_SUMS_H_
