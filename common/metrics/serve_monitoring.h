#ifndef PACELINE_COMMON_METRICS_SERVE_MONITORING_H_
#define PACELINE_COMMON_METRICS_SERVE_MONITORING_H_

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

// Serves over plain HTTP until the process ends, whatever security the other
// ports have:
//
//   /metrics  what `sources` and ProcessMetrics collect.
//   /healthz  200 as long as the process answers, whatever its peers do.
//   /readyz   200 if `readiness` is OK, else 503 with its message.
//
// Returns the port. `address` is "host:port"; port 0: the system chooses.
// UNAVAILABLE if it cannot be listened on. To be called once, by main.
absl::StatusOr<int> ServeMonitoring(
    const std::string& address,
    std::vector<std::shared_ptr<prometheus::Collectable>> sources,
    std::shared_ptr<const Readiness> readiness);

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_SERVE_MONITORING_H_
