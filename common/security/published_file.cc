#include "common/security/published_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

absl::Status ErrnoStatus(absl::string_view doing) {
  return absl::UnavailableError(
      absl::StrCat(doing, ": ", std::strerror(errno)));
}

// A new file in memory that holds `text`.
absl::StatusOr<int> InMemory(absl::string_view text) {
  const int fd = memfd_create("paceline-tls", MFD_CLOEXEC);
  if (fd < 0) return ErrnoStatus("make a file in memory");
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const absl::Status failed = ErrnoStatus("write a file in memory");
      close(fd);
      return failed;
    }
    text.remove_prefix(wrote);
  }
  return fd;
}

}  // namespace

absl::StatusOr<PublishedFile> PublishedFile::Make(absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const int fd, InMemory(text));
  return PublishedFile(fd);
}

absl::Status PublishedFile::Publish(absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const int fresh, InMemory(text));
  // From one moment to the next the path leads to the new file.
  const absl::Status status = dup3(fresh, fd_, O_CLOEXEC) < 0
                                  ? ErrnoStatus("exchange a file in memory")
                                  : absl::OkStatus();
  close(fresh);
  return status;
}

std::string PublishedFile::path() const {
  return absl::StrCat("/proc/self/fd/", fd_);
}

}  // namespace paceline
