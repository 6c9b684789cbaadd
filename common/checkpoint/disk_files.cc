#include "common/checkpoint/disk_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/safetensors/durable_file.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

absl::Status WriteAndFlush(int fd, const std::string& file,
                           absl::string_view text) {
  if (!WriteAll(fd, text))
    return FileError(errno, absl::StrCat("write ", file));
  if (fsync(fd) != 0) return FileError(errno, absl::StrCat("flush ", file));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> DiskFiles::Open(
    const std::string& path) const {
  PACELINE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return std::make_unique<InputFile>(std::move(file));
}

absl::StatusOr<std::unique_ptr<ByteSink>> DiskFiles::Create(
    const std::string& path, uint64_t /*bytes*/) const {
  PACELINE_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Create(path));
  return std::make_unique<DurableFile>(std::move(file));
}

absl::Status DiskFiles::WriteNew(const std::string& path,
                                 absl::string_view text) const {
  const UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return FileError(errno, absl::StrCat("create ", path));
  const absl::Status written = WriteAndFlush(fd.get(), path, text);
  if (!written.ok()) {
    unlink(path.c_str());
    return written;
  }
  return FlushFolder(FolderOf(path));
}

absl::Status DiskFiles::MakeFolder(const std::string& path) const {
  return MakeFolders(path);
}

absl::Status DiskFiles::EndUnfinished(const std::string& /*folder*/) const {
  return absl::OkStatus();  // It is files in the folder, with names of theirs.
}

absl::StatusOr<std::vector<std::string>> DiskFiles::List(
    const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return FileError(error.value(), absl::StrCat("read ", folder));
  return names;
}

absl::Status DiskFiles::Remove(const std::string& path) const {
  std::error_code error;
  fs::remove(path, error);
  if (!error) return absl::OkStatus();
  return FileError(error.value(), absl::StrCat("delete ", path));
}

absl::Status DiskFiles::Flush(const std::string& folder) const {
  return FlushFolder(folder);
}

absl::Status DiskFiles::RemoveFolder(const std::string& folder) const {
  std::error_code error;
  fs::remove(folder, error);
  if (error == std::errc::directory_not_empty) {
    return absl::UnavailableError(absl::StrCat(
        "a server still writes to ", folder, ": try again in a moment"));
  }
  if (!error) return absl::OkStatus();
  return FileError(error.value(), absl::StrCat("delete ", folder));
}

}  // namespace paceline
