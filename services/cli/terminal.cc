#include "services/cli/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace paceline {
namespace {

TerminalSize SizeOf(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
      size.ws_row == 0) {
    return TerminalSize();
  }
  return {.columns = size.ws_col, .rows = size.ws_row};
}

}  // namespace

bool WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

ProgressOutput ProgressTo(int fd, const char* term, const char* no_color) {
  const absl::string_view name = absl::NullSafeStringView(term);
  const bool smart = !name.empty() && name != "dumb";
  const bool terminal = smart && isatty(fd) == 1;
  return {.write = [fd](absl::string_view text) { return WriteAll(fd, text); },
          .terminal = terminal,
          .color = terminal && (no_color == nullptr || *no_color == '\0'),
          .size = [fd] { return SizeOf(fd); }};
}

}  // namespace paceline
