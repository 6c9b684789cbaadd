#ifndef PACELINE_COMMON_METRICS_READINESS_H_
#define PACELINE_COMMON_METRICS_READINESS_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Whether a process can do what it is there for. Thread-safe.
class Readiness {
 public:
  // OK: it can; otherwise why not.
  void Set(absl::Status status) {
    absl::MutexLock lock(&mu_);
    status_ = std::move(status);
  }
  absl::Status Get() const {
    absl::MutexLock lock(&mu_);
    return status_;
  }

 private:
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_) =
      absl::UnavailableError("it is starting");
};

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_READINESS_H_
