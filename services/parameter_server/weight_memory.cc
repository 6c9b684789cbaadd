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
  std::vector<Free>& free = free_[size];
  if (!free.empty()) {
    const Free place = free.back();
    free.pop_back();
    if (place.written) free_bytes_ -= size;
    return place.data;
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
  absl::MutexLock lock(&mu_);
  // The addresses stay.
  const bool removed = unit == kPage && free_bytes_ + size > kMostFree &&
                       madvise(data, size, MADV_REMOVE) == 0;
  if (!removed) free_bytes_ += size;
  free_[size].push_back({data, !removed});
}

}  // namespace paceline
