#ifndef PACELINE_COMMON_SESSION_KNOWN_TERM_H_
#define PACELINE_COMMON_SESSION_KNOWN_TERM_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// The latest term in which a member knows a coordinator to lead: it listens to
// none of an earlier one. It outlives the member's sessions. Thread-safe.
class KnownTerm {
 public:
  uint64_t Get() const {
    absl::MutexLock lock(&mu_);
    return term_;
  }
  // False if that is an earlier one.
  bool Meet(uint64_t term) {
    absl::MutexLock lock(&mu_);
    if (term < term_) return false;
    term_ = term;
    return true;
  }

 private:
  mutable absl::Mutex mu_;
  uint64_t term_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SESSION_KNOWN_TERM_H_
