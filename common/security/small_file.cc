#include "common/security/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

absl::Status ErrnoStatus(const std::string& path, int error) {
  const std::string text = absl::StrCat(path, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  struct stat about;
  if (fstat(fd, &about) != 0) return ErrnoStatus(path, errno);
  if (!S_ISREG(about.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": this is no ordinary file"));
  }
  std::string content;
  char buffer[16 << 10];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(path, errno);
    if (got == 0) break;
    content.append(buffer, got);
    if (content.size() > kMaxBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the file is larger than 1 MiB"));
    }
  }
  if (content.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": it is empty"));
  }
  return content;
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  // Opening a pipe that nobody writes to must not block.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return ErrnoStatus(path, errno);
  return ReadAll(file.get(), path);
}

Periodic::Periodic(absl::Duration interval, std::function<void()> work)
    : thread_([this, interval, work = std::move(work)] {
        while (!stop_.WaitForNotificationWithTimeout(interval)) work();
      }) {}

Periodic::~Periodic() {
  stop_.Notify();
  thread_.join();
}

}  // namespace paceline
