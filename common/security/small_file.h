#ifndef PACELINE_COMMON_SECURITY_SMALL_FILE_H_
#define PACELINE_COMMON_SECURITY_SMALL_FILE_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace paceline {

// The whole content of a file of certificates or tokens. The errors name it:
//   NOT_FOUND          it does not exist.
//   PERMISSION_DENIED  it may not be read.
//   INVALID_ARGUMENT   it is no ordinary file, empty, or larger than 1 MiB.
//   UNAVAILABLE        reading fails.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

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

#endif  // PACELINE_COMMON_SECURITY_SMALL_FILE_H_
