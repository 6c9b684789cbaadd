#ifndef PACELINE_TESTS_COMMON_OPEN_DESCRIPTORS_H_
#define PACELINE_TESTS_COMMON_OPEN_DESCRIPTORS_H_

#include <cstddef>
#include <filesystem>
#include <iterator>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace paceline {

// File descriptors of this process, and one for looking.
inline size_t OpenDescriptors() {
  using Entries = std::filesystem::directory_iterator;
  return static_cast<size_t>(
      std::distance(Entries("/proc/self/fd"), Entries()));
}

// OpenDescriptors() once they are at most `count`, or after ten seconds. A
// transport closes its own a moment after its owner has gone.
inline size_t AwaitDescriptors(size_t count) {
  for (int i = 0; i < 1'000 && OpenDescriptors() > count; ++i) {
    absl::Notification().WaitForNotificationWithTimeout(absl::Milliseconds(10));
  }
  return OpenDescriptors();
}

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_OPEN_DESCRIPTORS_H_
