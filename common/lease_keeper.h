#ifndef PACELINE_COMMON_LEASE_KEEPER_H_
#define PACELINE_COMMON_LEASE_KEEPER_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace paceline {

// Heartbeats on a thread of their own, so that no work, however long, ends a
// lease; and a watch over the peer, which is given up once it was not heard for
// two leases. Thread-safe.
class LeaseKeeper {
 public:
  // `clock` outlives the keeper.
  LeaseKeeper(const Clock* clock, absl::Duration lease)
      : clock_(clock), lease_(lease), last_heard_(clock->Now()) {}
  ~LeaseKeeper() { Stop(); }
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // From now on `beat` is called every third of a lease, and `silent` once, as
  // the last call, if the peer has fallen silent. Called once.
  void Start(std::function<void()> beat, std::function<void()> silent);
  // Ends that; no call goes on when this returns. May be repeated.
  void Stop();

  // The peer was heard. Also before Start().
  void Heard();

  // Heartbeats follow it at once.
  void SetLease(absl::Duration lease);
  absl::Duration lease() const;

 private:
  void Keep(const std::function<void()>& beat,
            const std::function<void()>& silent);

  const Clock* const clock_;
  mutable absl::Mutex mu_;
  absl::Duration lease_ ABSL_GUARDED_BY(mu_);
  absl::Time last_heard_ ABSL_GUARDED_BY(mu_);
  bool lease_changed_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_LEASE_KEEPER_H_
