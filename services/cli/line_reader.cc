#include "services/cli/line_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace paceline {

std::vector<std::string> LineReader::Read() {
  std::vector<std::string> lines;
  char buffer[16384];
  // Bounded, so that a writer who never rests cannot keep the caller here.
  for (int reads = 0; reads < 64 && !at_end_; ++reads) {
    const ssize_t n = read(fd_, buffer, sizeof(buffer));
    if (n > 0) {
      Take(buffer, static_cast<size_t>(n), lines);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    } else {
      at_end_ = true;
      if (!partial_.empty()) lines.push_back(std::exchange(partial_, {}));
    }
  }
  return lines;
}

void LineReader::Take(const char* data, size_t size,
                      std::vector<std::string>& lines) {
  const char* end = data + size;
  while (data != end) {
    const char* newline = std::find(data, end, '\n');
    const size_t room =
        kLineBytesMax - std::min(kLineBytesMax, partial_.size());
    partial_.append(data, std::min<size_t>(newline - data, room));
    if (newline == end) return;
    lines.push_back(std::exchange(partial_, {}));
    data = newline + 1;
  }
}

}  // namespace paceline
