#ifndef PACELINE_SERVICES_PARAMETER_SERVER_WEIGHT_MEMORY_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_WEIGHT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/lane/shared_memory.h"

namespace paceline {

// Memory in which the states of one run's blocks lie, so that workers of this
// machine can read them there. Pages are taken when they are written first, and
// given back when nobody holds a state there, but for some that the next states
// take. Thread-safe.
class WeightMemory {
 public:
  // Room for so many bytes, which takes addresses and no memory yet.
  // RESOURCE_EXHAUSTED as SharedMemory::Reserve().
  static absl::StatusOr<std::shared_ptr<WeightMemory>> Create(uint64_t bytes);

  // Bytes that begin on a cache line, with whatever was there. Null without
  // room. They are taken back with the same size.
  char* Take(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  void TakeBack(char* data, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mu_);

  // All of it.
  const std::shared_ptr<const SharedMemory>& memory() const { return memory_; }

 private:
  // Places of one size that nobody has.
  struct Free {
    std::vector<char*> written;  // The system has not got them back.
    std::vector<char*> removed;
  };

  explicit WeightMemory(std::shared_ptr<SharedMemory> memory);

  char* const data_;
  const std::shared_ptr<const SharedMemory> memory_;
  absl::Mutex mu_;
  uint64_t taken_ ABSL_GUARDED_BY(mu_) = 0;       // From the front.
  uint64_t free_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // That were written once.
  // By size: a run's blocks have few.
  absl::flat_hash_map<uint64_t, Free> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_WEIGHT_MEMORY_H_
