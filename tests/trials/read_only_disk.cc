// A disk that a trial can make read-only, for the processes that load this
// before the C library (LD_PRELOAD): as long as there is a file
// PACELINE_READ_ONLY_WHILE, write() and its like, open() for writing,
// ftruncate(), rename(), mkdir() and unlink() fail with EROFS below
// PACELINE_READ_ONLY_BELOW, also of files that were open before. A kernel does
// that to a file system after an error of its disk; nobody else can, while a
// file is open for writing.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool IsReadOnly(const char* path) {
  static const char* const sign = std::getenv("PACELINE_READ_ONLY_WHILE");
  static const char* const folder = std::getenv("PACELINE_READ_ONLY_BELOW");
  if (sign == nullptr || folder == nullptr || path == nullptr) return false;
  const size_t size = std::strlen(folder);
  return std::strncmp(path, folder, size) == 0 && path[size] == '/' &&
         syscall(SYS_faccessat, AT_FDCWD, sign, F_OK) == 0;
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

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int file = Open(AT_FDCWD, path, flags, arguments);
  va_end(arguments);
  return file;
}

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

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  return pwrite(file, bytes, size, offset);
}

int ftruncate(int file, off_t size) noexcept {
  if (IsReadOnly(file)) return Refuse();
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}

int ftruncate64(int file, off64_t size) noexcept {
  return ftruncate(file, size);
}

int rename(const char* from, const char* to) noexcept {
  if (IsReadOnly(from) || IsReadOnly(to)) return Refuse();
  return static_cast<int>(
      syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (IsReadOnly(path)) return Refuse();
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int unlink(const char* path) noexcept {
  if (IsReadOnly(path)) return Refuse();
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

}  // extern "C"
