#ifndef PACELINE_SERVICES_CLI_UNIQUE_FD_H_
#define PACELINE_SERVICES_CLI_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

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

  void Reset(int fd = -1) {
    if (fd_ >= 0 && fd_ != fd) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_UNIQUE_FD_H_
