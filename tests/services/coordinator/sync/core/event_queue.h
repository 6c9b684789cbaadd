#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_EVENT_QUEUE_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_EVENT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/time/time.h"
#include "common/rng.h"

namespace paceline {

// Virtual time: what happens at which moment, in order of time and then of
// insertion.
class EventQueue {
 public:
  using Callback = std::function<void()>;

  absl::Time now() const { return now_; }
  bool empty() const { return events_.empty(); }
  // REQUIRES: not empty.
  absl::Time next_at() const { return events_.begin()->first.first; }

  void After(absl::Duration delay, Callback callback) {
    At(now_ + delay, std::move(callback));
  }
  void At(absl::Time at, Callback callback) {
    events_.emplace(std::pair(at, inserted_++), std::move(callback));
  }

  // Jumps to the next event and lets it happen.  REQUIRES: not empty.
  void RunNext() {
    auto node = events_.extract(events_.begin());
    AdvanceTo(node.key().first);
    node.mapped()();
  }
  void AdvanceTo(absl::Time at) { now_ = std::max(now_, at); }

 private:
  absl::Time now_ = absl::UnixEpoch();
  uint64_t inserted_ = 0;
  std::map<std::pair<absl::Time, uint64_t>, Callback> events_;
};

// One direction of a stream: what is sent arrives in order, each message after
// a random delay, until the stream is cut.
class Link {
 public:
  Link(EventQueue& queue, Rng& rng) : queue_(queue), rng_(rng) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void Send(EventQueue::Callback deliver) {
    // One message in 20 is held up for long.
    const uint64_t most = rng_.Chance(1, 20) ? 200000 : 3000;
    const absl::Duration delay = absl::Microseconds(50 + rng_.Below(most));
    last_arrival_ = std::max(last_arrival_, queue_.now() + delay);
    queue_.At(last_arrival_, [this, deliver = std::move(deliver)] {
      if (queue_.now() <= cut_at_) deliver();
    });
  }

  // Loses what would arrive after some random time from now.
  void Cut() {
    const absl::Duration after = absl::Microseconds(rng_.Below(20000));
    cut_at_ = std::min(cut_at_, queue_.now() + after);
  }

 private:
  EventQueue& queue_;
  Rng& rng_;
  absl::Time last_arrival_ = absl::InfinitePast();
  absl::Time cut_at_ = absl::InfiniteFuture();
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_EVENT_QUEUE_H_
