#include "common/security/published_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

absl::Status ErrnoStatus(absl::string_view doing) {
  return absl::UnavailableError(
      absl::StrCat(doing, ": ", std::strerror(errno)));
}

// A new file in memory that holds `text`.
absl::StatusOr<UniqueFd> InMemory(absl::string_view text) {
  UniqueFd file(memfd_create("paceline-tls", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus("make a file in memory");
  if (!WriteAll(file.get(), text)) return ErrnoStatus("write a file in memory");
  return file;
}

}  // namespace

absl::StatusOr<PublishedFile> PublishedFile::Make(absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(UniqueFd file, InMemory(text));
  return PublishedFile(file.Release());
}

absl::Status PublishedFile::Publish(absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const UniqueFd fresh, InMemory(text));
  // From one moment to the next the path leads to the new file.
  return dup3(fresh.get(), fd_, O_CLOEXEC) < 0
             ? ErrnoStatus("exchange a file in memory")
             : absl::OkStatus();
}

std::string PublishedFile::path() const {
  return absl::StrCat("/proc/self/fd/", fd_);
}

}  // namespace paceline
