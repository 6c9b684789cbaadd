#ifndef PACELINE_TESTS_COMMON_SECURITY_EVENTUALLY_H_
#define PACELINE_TESTS_COMMON_SECURITY_EVENTUALLY_H_

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace paceline {

// Asks until `is_so` says true: for what another thread or process does in its
// own time. False after half a minute.
template <class IsSo>
bool Eventually(const IsSo& is_so) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!is_so()) {
    if (absl::Now() > deadline) return false;
    absl::Notification never;
    never.WaitForNotificationWithTimeout(absl::Milliseconds(10));
  }
  return true;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SECURITY_EVENTUALLY_H_
