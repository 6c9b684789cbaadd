// A disk that a trial can stop, for the processes that load this before the C
// library (LD_PRELOAD): as long as there is a file PACELINE_HANGS_WHILE,
// whatever opens, renames, makes or deletes something below
// PACELINE_HANGS_BELOW does not return, as on a network's disk whose server is
// gone.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

bool IsBelow(const char* path) {
  static const char* const folder = std::getenv("PACELINE_HANGS_BELOW");
  if (folder == nullptr || path == nullptr) return false;
  const size_t size = std::strlen(folder);
  return std::strncmp(path, folder, size) == 0 && path[size] == '/';
}

void Pass(const char* path) {
  static const char* const sign = std::getenv("PACELINE_HANGS_WHILE");
  if (sign == nullptr || !IsBelow(path)) return;
  while (syscall(SYS_faccessat, AT_FDCWD, sign, F_OK) == 0) {
    const timespec moment = {.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&moment, nullptr);
  }
}

int Open(int folder, const char* path, int flags, va_list arguments) {
  Pass(path);
  const mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE
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

int rename(const char* from, const char* to) noexcept {
  Pass(from);
  return static_cast<int>(
      syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int mkdir(const char* path, mode_t mode) noexcept {
  Pass(path);
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int unlink(const char* path) noexcept {
  Pass(path);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

}  // extern "C"
