#ifndef PACELINE_COMMON_CLOCK_H_
#define PACELINE_COMMON_CLOCK_H_

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {

// Where the time comes from. Only drivers hold a Clock; everything that
// decides takes `now` as an argument. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never decreases within one process; its zero is arbitrary.
  virtual absl::Time Now() const = 0;

  // Waits until `condition` is signalled or this clock may have reached
  // `deadline`; may return earlier. `mu` is held.
  virtual void Wait(absl::CondVar& condition, absl::Mutex& mu,
                    absl::Time deadline) const;

  // The machine's monotonic clock.
  static const Clock& Real();
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CLOCK_H_
