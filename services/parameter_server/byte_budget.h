#ifndef PACELINE_SERVICES_PARAMETER_SERVER_BYTE_BUDGET_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_BYTE_BUDGET_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Bytes that several owners may take together. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t max) : max_(max) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // False, and nothing is taken, if there are not so many left.
  bool Take(uint64_t bytes) {
    absl::MutexLock lock(&mu_);
    if (bytes > max_ - taken_) return false;
    taken_ += bytes;
    return true;
  }
  // REQUIRES: they were taken.
  void GiveBack(uint64_t bytes) {
    absl::MutexLock lock(&mu_);
    taken_ -= bytes;
  }

  uint64_t max() const { return max_; }
  uint64_t taken() const {
    absl::MutexLock lock(&mu_);
    return taken_;
  }

 private:
  const uint64_t max_;
  mutable absl::Mutex mu_;
  uint64_t taken_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_BYTE_BUDGET_H_
