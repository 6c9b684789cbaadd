#ifndef PACELINE_COMMON_CLOCK_H_
#define PACELINE_COMMON_CLOCK_H_

#include "absl/time/time.h"

namespace paceline {

// Where the time comes from. Only drivers hold a Clock; everything that
// decides takes `now` as an argument. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never decreases within one process; its zero is arbitrary.
  virtual absl::Time Now() const = 0;

  // The machine's monotonic clock.
  static const Clock& Real();
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CLOCK_H_
