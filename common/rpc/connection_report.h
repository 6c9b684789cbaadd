#ifndef PACELINE_COMMON_RPC_CONNECTION_REPORT_H_
#define PACELINE_COMMON_RPC_CONNECTION_REPORT_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/connections/connection_budget.h"
#include "common/connections/door.h"
#include "common/security/rate_limiter.h"

namespace paceline {

// Tells of a process's connections: series, and a warning for each that its
// door has ended, ten at once and then one a second. Thread-safe.
class ConnectionReport {
 public:
  // `registry` outlives it.
  explicit ConnectionReport(prometheus::Registry& registry);

  void SetCounts(const Door::Counts& counts);
  void Cut(const std::string& peer, const ConnectionBudget::Cut& cut);

 private:
  prometheus::Gauge& open_;
  prometheus::Gauge& strangers_;
  std::map<CutReason, prometheus::Counter*> cut_;

  absl::Mutex mu_;
  RateLimiter warnings_ ABSL_GUARDED_BY(mu_);
  uint64_t untold_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_CONNECTION_REPORT_H_
