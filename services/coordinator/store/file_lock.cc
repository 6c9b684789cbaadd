#include "services/coordinator/store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

// What the holder has written, " by process 1234".
std::string Holder(int fd) {
  char text[32];
  const ssize_t size = pread(fd, text, sizeof(text), 0);
  if (size <= 0) return "";
  return absl::StrCat(" by process ",
                      absl::StripAsciiWhitespace(
                          absl::string_view(text, static_cast<size_t>(size))));
}

}  // namespace

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  FileLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return absl::InternalError(
          absl::StrCat("cannot lock ", path, ": errno ", errno));
    }
    return absl::UnavailableError(
        absl::StrCat(path, " is held", Holder(fd), "; stop that one first"));
  }
  // For people only: the lock holds without it.
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, pid.data(), pid.size(), 0) != ssize_t(pid.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace paceline
