#include "common/security/rate_limiter.h"

#include <algorithm>
#include <string>

#include "common/check.h"

namespace paceline {

RateLimiter::RateLimiter(const Limits& limits) : limits_(limits) {
  CHECK(limits.per_second >= 0);
  CHECK(limits.burst >= 1);
  CHECK(limits.max_identities >= 1);
}

RateLimiter::Bucket& RateLimiter::BucketOf(absl::string_view identity,
                                           absl::Time now) {
  const auto found = by_identity_.find(identity);
  if (found != by_identity_.end()) {
    latest_first_.splice(latest_first_.begin(), latest_first_, found->second);
    return latest_first_.front();
  }
  if (by_identity_.size() == limits_.max_identities) {
    by_identity_.erase(latest_first_.back().identity);
    latest_first_.pop_back();
  }
  latest_first_.push_front({std::string(identity), limits_.burst, now});
  Bucket& bucket = latest_first_.front();
  by_identity_.emplace(bucket.identity, latest_first_.begin());
  return bucket;
}

absl::Duration RateLimiter::Take(absl::string_view identity, absl::Time now) {
  if (limits_.per_second == 0) return absl::ZeroDuration();
  Bucket& bucket = BucketOf(identity, now);
  if (now > bucket.filled_at) {
    const double seconds = absl::ToDoubleSeconds(now - bucket.filled_at);
    bucket.tokens =
        std::min(limits_.burst, bucket.tokens + seconds * limits_.per_second);
    bucket.filled_at = now;
  }
  // A hair less than one is one: who comes again after the time that was named
  // must not be refused for a rounding.
  if (bucket.tokens >= 1 - 1e-6) {
    bucket.tokens -= 1;
    return absl::ZeroDuration();
  }
  return absl::Seconds((1 - bucket.tokens) / limits_.per_second);
}

StreamLimiter::StreamLimiter(size_t per_identity)
    : per_identity_(per_identity), open_(std::make_shared<OpenStreams>()) {}

StreamTicket StreamLimiter::Open(absl::string_view identity) {
  {
    absl::MutexLock lock(&open_->mu);
    size_t& count = open_->by_identity[identity];
    if (per_identity_ > 0 && count >= per_identity_) return nullptr;
    ++count;
  }
  // The pointer only says that there is a ticket; what counts is its deleter.
  return StreamTicket(open_.get(),
                      [open = open_, whose = std::string(identity)](void*) {
                        absl::MutexLock lock(&open->mu);
                        const auto it = open->by_identity.find(whose);
                        if (--it->second == 0) open->by_identity.erase(it);
                      });
}

size_t StreamLimiter::open(absl::string_view identity) const {
  absl::MutexLock lock(&open_->mu);
  const auto it = open_->by_identity.find(identity);
  return it == open_->by_identity.end() ? 0 : it->second;
}

}  // namespace paceline
