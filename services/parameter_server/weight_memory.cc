#include "services/parameter_server/weight_memory.h"

#include <sys/mman.h>

#include <utility>

#include "absl/memory/memory.h"
#include "common/status.h"

namespace paceline {
namespace {

// A line of the caches, for what is less than a page.
constexpr uint64_t kLine = 64;
constexpr uint64_t kPage = 4096;

// What nobody holds and is not given back to the system, at most: what comes
// next need not be cleared by the system, then.
constexpr uint64_t kMostFree = uint64_t{64} << 20;

uint64_t UnitFor(uint64_t bytes) { return bytes < kPage ? kLine : kPage; }

uint64_t Aligned(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

absl::StatusOr<std::shared_ptr<WeightMemory>> WeightMemory::Create(
    uint64_t bytes) {
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<SharedMemory> memory,
                            SharedMemory::Reserve("paceline-blocks", bytes));
  return absl::WrapUnique(new WeightMemory(std::move(memory)));
}

WeightMemory::WeightMemory(std::shared_ptr<SharedMemory> memory)
    : data_(memory->data()), memory_(std::move(memory)) {}

char* WeightMemory::Take(uint64_t bytes) {
  const uint64_t unit = UnitFor(bytes);
  const uint64_t size = Aligned(bytes, unit);
  absl::MutexLock lock(&mu_);
  Free& free = free_[size];
  for (std::vector<char*>* places : {&free.written, &free.removed}) {
    if (places->empty()) continue;
    char* const data = places->back();
    places->pop_back();
    if (places == &free.written) free_bytes_ -= size;
    return data;
  }
  const uint64_t begin = Aligned(taken_, unit);
  if (begin > memory_->bytes() || size > memory_->bytes() - begin) {
    return nullptr;
  }
  taken_ = begin + size;
  return data_ + begin;
}

void WeightMemory::TakeBack(char* data, uint64_t bytes) {
  const uint64_t unit = UnitFor(bytes);
  const uint64_t size = Aligned(bytes, unit);
  {
    absl::MutexLock lock(&mu_);
    if (unit != kPage || free_bytes_ + size <= kMostFree) {
      free_bytes_ += size;
      free_[size].written.push_back(data);
      return;
    }
  }
  // Nobody waits for the system. The addresses stay.
  const bool removed = madvise(data, size, MADV_REMOVE) == 0;
  absl::MutexLock lock(&mu_);
  if (!removed) free_bytes_ += size;
  (removed ? free_[size].removed : free_[size].written).push_back(data);
}

}  // namespace paceline
