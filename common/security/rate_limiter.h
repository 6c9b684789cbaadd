#ifndef PACELINE_COMMON_SECURITY_RATE_LIMITER_H_
#define PACELINE_COMMON_SECURITY_RATE_LIMITER_H_

#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {

// How many requests each caller may make: a token bucket per identity. Pure:
// equal calls give equal answers. Thread-compatible.
class RateLimiter {
 public:
  struct Limits {
    double per_second = 0;  // 0: no limit.
    double burst = 1;       // At once after a rest; at least 1.
    // Remembered, at least 1. One more makes it forget the one that has been
    // quiet for longest, who then has a full burst again.
    size_t max_identities = 10'000;
  };

  explicit RateLimiter(const Limits& limits);

  // Zero: the request is admitted and counted. Otherwise it is refused, and
  // would be admitted after that time. A `now` before the last one of the
  // identity counts as that.
  absl::Duration Take(absl::string_view identity, absl::Time now);

  size_t identities() const { return by_identity_.size(); }

 private:
  struct Bucket {
    std::string identity;
    double tokens;
    absl::Time filled_at;
  };

  Bucket& BucketOf(absl::string_view identity, absl::Time now);

  const Limits limits_;
  std::list<Bucket> latest_first_;
  // The keys are the buckets' own.
  absl::flat_hash_map<absl::string_view, std::list<Bucket>::iterator>
      by_identity_;
};

// One open stream; once the last copy is gone it is not counted any more. It
// may outlive the limiter, and any thread may let go of it. Null: counts
// nothing.
using StreamTicket = std::shared_ptr<void>;

// How many streams each caller may have open at a time. Thread-safe.
class StreamLimiter {
 public:
  // 0: no limit.
  explicit StreamLimiter(size_t per_identity);

  // Null if the identity has as many as it may.
  StreamTicket Open(absl::string_view identity);

  size_t open(absl::string_view identity) const;

 private:
  struct OpenStreams {
    absl::Mutex mu;
    // Only identities with open streams, so that it cannot grow for ever.
    absl::flat_hash_map<std::string, size_t> by_identity ABSL_GUARDED_BY(mu);
  };

  const size_t per_identity_;
  const std::shared_ptr<OpenStreams> open_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_RATE_LIMITER_H_
