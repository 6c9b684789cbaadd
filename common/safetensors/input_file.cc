#include "common/safetensors/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {

absl::Status FileError(int error_number, absl::string_view doing) {
  const absl::Status status = absl::ErrnoToStatus(error_number, doing);
  switch (error_number) {
    case EIO:
      return absl::DataLossError(status.message());
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(status.message());
    case EROFS:
      return absl::PermissionDeniedError(status.message());
    default:
      return status;
  }
}

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  // Not to wait for the other end, should it be a pipe.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return FileError(errno, absl::StrCat("open ", path));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) {
    return FileError(errno, absl::StrCat("look at ", path));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a plain file"));
  }
  InputFile file(path, std::move(fd));
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

absl::Status InputFile::Read(uint64_t offset, absl::Span<char> out) const {
  while (!out.empty()) {
    const ssize_t got =
        pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, absl::StrCat("read ", path_));
    if (got == 0) {
      return absl::DataLossError(
          absl::StrCat(path_, " ends at byte ", offset, ", where ", out.size(),
                       " more are expected: it has been cut off"));
    }
    out.remove_prefix(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          uint64_t max_bytes) {
  PACELINE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.size() > max_bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", file.size(),
                                            " bytes, more than the ", max_bytes,
                                            " that it can have"));
  }
  std::string text(file.size(), '\0');
  PACELINE_RETURN_IF_ERROR(
      file.Read(0, absl::MakeSpan(text.data(), text.size())));
  return text;
}

}  // namespace paceline
