#include "common/lane/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace paceline {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status NoMemory(uint64_t bytes, absl::string_view doing) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory to share ", bytes, " bytes with another process: ", doing,
      ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Create(
    const std::string& name, uint64_t bytes) {
  // A mapping of nothing is none.
  const uint64_t mapped = std::max<uint64_t>(bytes, 1);
  UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return NoMemory(bytes, "memfd_create");
  // All of it now, so that it counts to this process whoever writes first, and
  // a lack of memory is an error here and not a signal there.
  errno = posix_fallocate(fd.get(), 0, static_cast<off_t>(mapped));
  if (errno != 0) return NoMemory(bytes, "posix_fallocate");
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return NoMemory(bytes, "seal");
  return MapAll(std::move(fd), mapped, Access::kReadAndWrite);
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Reserve(
    const std::string& name, uint64_t bytes) {
  const uint64_t mapped = std::max<uint64_t>(bytes, 1);
  UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return NoMemory(bytes, "memfd_create");
  const std::string path = absl::StrCat("/proc/self/fd/", fd.get());
  UniqueFd to_read(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!to_read.valid()) return NoMemory(bytes, "open it to read");
  if (ftruncate(fd.get(), static_cast<off_t>(mapped)) != 0) {
    return NoMemory(bytes, "ftruncate");
  }
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return NoMemory(bytes, "seal");
  void* const data =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return NoMemory(bytes, "mmap");
  return absl::WrapUnique(
      new SharedMemory(std::move(to_read), static_cast<char*>(data), mapped));
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Map(UniqueFd fd,
                                                                uint64_t most,
                                                                Access access) {
  // Only such memory has seals.
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError(
        "shared memory that is not sealed against shrinking");
  }
  // Huge pages may be none when they are touched, which is a signal.
  struct statfs system = {};
  if (fstatfs(fd.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return absl::InvalidArgumentError("shared memory of huge pages");
  }
  struct stat found = {};
  if (fstat(fd.get(), &found) != 0 || found.st_size < 1 ||
      static_cast<uint64_t>(found.st_size) > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shared memory of ", found.st_size, " bytes, not of 1 to ", most));
  }
  return MapAll(std::move(fd), static_cast<uint64_t>(found.st_size), access);
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::MapAll(
    UniqueFd fd, uint64_t bytes, Access access) {
  const int allowed =
      access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const data = mmap(nullptr, bytes, allowed, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return NoMemory(bytes, "mmap");
  return absl::WrapUnique(
      new SharedMemory(std::move(fd), static_cast<char*>(data), bytes));
}

SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

}  // namespace paceline
