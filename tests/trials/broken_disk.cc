// A disk that a trial can break, for the processes that load this before the C
// library (LD_PRELOAD), below the folder PACELINE_DISK:
//
// As long as there is a file PACELINE_DISK_HANGS_WHILE, open(), rename(),
// mkdir() and unlink() do not return, as on a network's disk whose server is
// gone.
//
// As long as there is a file PACELINE_DISK_READ_ONLY_WHILE, write() and its
// like, open() for writing, ftruncate(), rename(), mkdir() and unlink() fail
// with EROFS, also of files that were open before. A kernel does that to a file
// system after an error of its disk; nobody else can, while a file is open for
// writing.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool IsBelow(const char* path) {
  static const char* const folder = std::getenv("PACELINE_DISK");
  if (folder == nullptr || path == nullptr) return false;
  const size_t size = std::strlen(folder);
  return std::strncmp(path, folder, size) == 0 && path[size] == '/';
}

bool IsThere(const char* sign) {
  return sign != nullptr && syscall(SYS_faccessat, AT_FDCWD, sign, F_OK) == 0;
}

void Pass(const char* path) {
  static const char* const sign = std::getenv("PACELINE_DISK_HANGS_WHILE");
  if (!IsBelow(path)) return;
  while (IsThere(sign)) {
    const timespec moment = {.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&moment, nullptr);
  }
}

bool IsReadOnly(const char* path) {
  static const char* const sign = std::getenv("PACELINE_DISK_READ_ONLY_WHILE");
  return IsBelow(path) && IsThere(sign);
}

bool IsReadOnly(int file) {
  std::array<char, 32> link;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
  std::array<char, 4096> path = {};
  return readlink(link.data(), path.data(), path.size() - 1) > 0 &&
         IsReadOnly(path.data());
}

// What a call returns that is refused.
int Refuse() {
  errno = EROFS;
  return -1;
}

int Open(int folder, const char* path, int flags, va_list arguments) {
  Pass(path);
  const bool creates = (flags & O_CREAT) != 0;
  if (((flags & O_ACCMODE) != O_RDONLY || creates) && IsReadOnly(path)) {
    return Refuse();
  }
  const mode_t mode = creates || (flags & O_TMPFILE) == O_TMPFILE
                          ? va_arg(arguments, mode_t)
                          : 0;
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int file = Open(AT_FDCWD, path, flags, arguments);
  va_end(arguments);
  return file;
}

// The same on a machine of 64 bits.
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int file = Open(folder, path, flags, arguments);
  va_end(arguments);
  return file;
}

ssize_t write(int file, const void* bytes, size_t size) {
  if (IsReadOnly(file)) return Refuse();
  return syscall(SYS_write, file, bytes, size);
}

ssize_t writev(int file, const iovec* parts, int count) {
  if (IsReadOnly(file)) return Refuse();
  return syscall(SYS_writev, file, parts, count);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  if (IsReadOnly(file)) return Refuse();
  return syscall(SYS_pwrite64, file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset)
    __attribute__((alias("pwrite")));

int ftruncate(int file, off_t size) noexcept {
  if (IsReadOnly(file)) return Refuse();
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}

int ftruncate64(int file, off64_t size) noexcept
    __attribute__((alias("ftruncate")));

int rename(const char* from, const char* to) noexcept {
  Pass(from);
  if (IsReadOnly(from) || IsReadOnly(to)) return Refuse();
  return static_cast<int>(
      syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int mkdir(const char* path, mode_t mode) noexcept {
  Pass(path);
  if (IsReadOnly(path)) return Refuse();
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int unlink(const char* path) noexcept {
  Pass(path);
  if (IsReadOnly(path)) return Refuse();
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

}  // extern "C"
