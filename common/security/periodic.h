#ifndef PACELINE_COMMON_SECURITY_PERIODIC_H_
#define PACELINE_COMMON_SECURITY_PERIODIC_H_

#include <functional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace paceline {

// Calls `work` on a thread of its own, `interval` after the start and after
// each call, until it is destroyed. The destructor waits for a call that runs.
class Periodic {
 public:
  Periodic(absl::Duration interval, std::function<void()> work);
  ~Periodic();
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_PERIODIC_H_
