#ifndef PACELINE_COMMON_UNIQUE_FD_H_
#define PACELINE_COMMON_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

#include "absl/strings/string_view.h"

namespace paceline {

// An owned file descriptor; -1 is none. Movable, not copyable.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  // From here on it is somebody else's.
  int Release() { return std::exchange(fd_, -1); }

  void Reset(int fd = -1) {
    if (fd_ >= 0 && fd_ != fd) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Writes all of `text` to a descriptor; false, with errno, if that failed.
bool WriteAll(int fd, absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_COMMON_UNIQUE_FD_H_
