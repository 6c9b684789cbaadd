// Abseil as Debian builds it looks for deadlocks: for each mutex that a thread
// takes while it holds another, it adds an edge to a graph of the process,
// under one spin lock, and ends the process at a circle. The tests run with
// that. The programs that users run, and what is measured, have this file, by
// which they go without: taking two mutexes then costs 22 ns instead of 77, and
// threads do not meet at that lock.

#include "absl/synchronization/mutex.h"

namespace paceline {
namespace {

[[maybe_unused]] const bool kUnchecked = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();

}  // namespace
}  // namespace paceline
