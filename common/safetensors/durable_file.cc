#include "common/safetensors/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"

namespace paceline {
namespace {

// Below it a piece is cheaper to copy than to write by itself.
constexpr size_t kBufferBytes = size_t{64} << 10;

// Unlike every other that this process, and most likely any, is writing.
std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> next = 0;
  return absl::StrCat(path, ".tmp-", getpid(), "-", next.fetch_add(1));
}

}  // namespace

absl::StatusOr<DurableFile> DurableFile::Create(const std::string& path) {
  std::string temporary = TemporaryName(path);
  // One of that name is what a process that had our number left behind.
  UniqueFd fd(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return FileError(errno, absl::StrCat("create ", temporary));
  return DurableFile(path, std::move(temporary), std::move(fd));
}

DurableFile::~DurableFile() {
  if (fd_.valid()) unlink(temporary_.c_str());
}

absl::Status DurableFile::Write(absl::string_view bytes) {
  CHECK(fd_.valid());
  sha256_.Update(bytes);
  bytes_ += bytes.size();
  if (buffer_.size() + bytes.size() <= kBufferBytes) {
    buffer_.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  PACELINE_RETURN_IF_ERROR(FlushBuffer());
  if (bytes.size() >= kBufferBytes) return WriteOut(bytes);
  buffer_.assign(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status DurableFile::FlushBuffer() {
  const absl::Status written = WriteOut(buffer_);
  buffer_.clear();
  return written;
}

absl::Status DurableFile::WriteOut(absl::string_view bytes) {
  if (WriteAll(fd_.get(), bytes)) return absl::OkStatus();
  return FileError(errno, absl::StrCat("write ", temporary_));
}

absl::StatusOr<WrittenFile> DurableFile::Commit() {
  CHECK(fd_.valid());
  PACELINE_RETURN_IF_ERROR(FlushBuffer());
  if (fsync(fd_.get()) != 0) {
    return FileError(errno, absl::StrCat("flush ", temporary_));
  }
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return FileError(errno, absl::StrCat("rename ", temporary_, " to ", path_));
  }
  fd_.Reset();
  PACELINE_RETURN_IF_ERROR(FlushFolder(FolderOf(path_)));
  return WrittenFile{bytes_, sha256_.HexDigest()};
}

absl::Status MakeFolders(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  const std::string above = FolderOf(path);
  if (above != path) PACELINE_RETURN_IF_ERROR(MakeFolders(above));
  if (mkdir(path.c_str(), 0777) != 0) {
    const int failed = errno == EEXIST ? ENOTDIR : errno;
    // Somebody else may have made it just now.
    if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
    return FileError(failed, absl::StrCat("create the folder ", path));
  }
  return FlushFolder(above);
}

absl::Status FlushFolder(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FileError(errno, absl::StrCat("open ", path));
  const int failed = fsync(fd.get()) == 0 ? 0 : errno;
  // Some network file systems cannot do it, and need not.
  if (failed == 0 || failed == EINVAL || failed == ENOTSUP) {
    return absl::OkStatus();
  }
  return FileError(failed, absl::StrCat("flush ", path));
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace paceline
