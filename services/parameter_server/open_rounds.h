#ifndef PACELINE_SERVICES_PARAMETER_SERVER_OPEN_ROUNDS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_OPEN_ROUNDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

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

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_OPEN_ROUNDS_H_
