#include "common/checkpoint/shared_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/safetensors/durable_file.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

// More than an id has.
constexpr size_t kMostBytes = 256;

std::string IdFileOf(const std::string& path) {
  return absl::StrCat(path, "/", kFolderIdFile);
}

// NOT_FOUND if there is no such file.
absl::StatusOr<std::string> ReadId(const std::string& path) {
  const std::string file = IdFileOf(path);
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError(errno, absl::StrCat("open ", file));
  std::array<char, kMostBytes> bytes;
  const ssize_t count = read(fd.get(), bytes.data(), bytes.size());
  if (count < 0) return FileError(errno, absl::StrCat("read ", file));
  absl::string_view id(bytes.data(), static_cast<size_t>(count));
  absl::ConsumeSuffix(&id, "\n");
  if (id.empty() || id.size() == kMostBytes) {
    return absl::DataLossError(
        absl::StrCat(file, " holds no id: delete it, and it is made anew"));
  }
  return std::string(id);
}

absl::Status WriteAndFlush(int fd, const std::string& file,
                           absl::string_view text) {
  if (!WriteAll(fd, text))
    return FileError(errno, absl::StrCat("write ", file));
  if (fsync(fd) != 0) return FileError(errno, absl::StrCat("flush ", file));
  return absl::OkStatus();
}

// ALREADY_EXISTS if another process was faster.
absl::Status WriteId(const std::string& path, const std::string& id) {
  const std::string file = IdFileOf(path);
  const UniqueFd fd(
      open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return FileError(errno, absl::StrCat("create ", file));
  const absl::Status written =
      WriteAndFlush(fd.get(), file, absl::StrCat(id, "\n"));
  if (!written.ok()) {
    unlink(file.c_str());
    return written;
  }
  return FlushFolder(path);
}

}  // namespace

absl::StatusOr<std::string> ClaimFolder(const std::string& path,
                                        const std::string& new_id) {
  PACELINE_RETURN_IF_ERROR(MakeFolders(path));
  const absl::StatusOr<std::string> found = ReadId(path);
  if (!absl::IsNotFound(found.status())) return found;
  PACELINE_RETURN_IF_ERROR(WriteId(path, new_id));
  return new_id;
}

absl::Status CheckSharedFolder(const std::string& path, const std::string& id) {
  const absl::StatusOr<std::string> found = ReadId(path);
  if (absl::IsNotFound(found.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the coordinator's checkpoint folder ", path,
                     " is not seen here: mount it there"));
  }
  PACELINE_RETURN_IF_ERROR(found.status());
  if (*found == id) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint folder ", path,
                   " is another one here than the coordinator's: mount the "
                   "same there"));
}

absl::Status TryToWrite(const std::string& path) {
  std::string file = absl::StrCat(path, "/.paceline-probe-XXXXXX");
  const UniqueFd fd(mkostemp(file.data(), O_CLOEXEC));
  if (!fd.valid()) return FileError(errno, absl::StrCat("create ", file));
  const absl::Status written = WriteAndFlush(fd.get(), file, "probe\n");
  unlink(file.c_str());
  return written;
}

bool IsUsable(const absl::Status& folder) {
  return folder.ok() || absl::IsResourceExhausted(folder);
}

}  // namespace paceline
