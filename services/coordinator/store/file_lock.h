#ifndef PACELINE_SERVICES_COORDINATOR_STORE_FILE_LOCK_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_FILE_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace paceline {

// A lock that one process of a machine holds at a time, on a file of its own,
// which is made if it is not there and stays. The kernel gives it back when the
// process ends, however that happens. Movable; thread-compatible.
class FileLock {
 public:
  // UNAVAILABLE, with the number of the process that holds it, if it is held;
  // NOT_FOUND if the directory does not exist; PERMISSION_DENIED; INTERNAL for
  // any other failure.
  static absl::StatusOr<FileLock> Take(const std::string& path);

  ~FileLock();
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}

  int fd_;  // -1: moved from.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_FILE_LOCK_H_
