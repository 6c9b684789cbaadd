#include "common/security/periodic.h"

#include <utility>

namespace paceline {

Periodic::Periodic(absl::Duration interval, std::function<void()> work)
    : thread_([this, interval, work = std::move(work)] {
        while (!stop_.WaitForNotificationWithTimeout(interval)) work();
      }) {}

Periodic::~Periodic() {
  stop_.Notify();
  thread_.join();
}

}  // namespace paceline
