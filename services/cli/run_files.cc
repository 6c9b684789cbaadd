#include "services/cli/run_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

namespace fs = std::filesystem;

std::string DefaultRunDirectory(absl::Time now, absl::TimeZone zone, int pid) {
  return absl::StrCat("./paceline-runs/",
                      absl::FormatTime("%Y%m%d-%H%M%S", now, zone), "-", pid);
}

std::string RunFolderName(int number, absl::string_view paradigm) {
  constexpr size_t kLongest = 60;
  std::string name = absl::StrCat(number, "-", paradigm.substr(0, kLongest));
  // No character that a shell would have to quote.
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '-';
  }
  return name;
}

std::string FinalCheckpointIn(const std::string& folder) {
  std::error_code error;
  // The folder of the job, which has no name that is known here, lies between.
  for (std::filesystem::recursive_directory_iterator
           found(absl::StrCat(folder, "/checkpoints"), error),
       end;
       !error && found != end; found.increment(error)) {
    const std::filesystem::path& path = found->path();
    if (found.depth() == 1 &&
        absl::StartsWith(path.filename().string(), "final-")) {
      return path.string();
    }
  }
  return "";
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot make the folder ", path, ": ",
                   error ? error.message() : "it is no folder"));
}

absl::Status WriteWholeFile(const std::string& path,
                            absl::string_view content) {
  const std::string unfinished = absl::StrCat(path, ".tmp");
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  std::error_code error;
  if (file) fs::rename(unfinished, path, error);
  if (file && !error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", path));
}

std::vector<std::string> LastLinesOf(const std::string& path, size_t count) {
  constexpr std::streamoff kTailBytes = 16'384;
  constexpr size_t kLongest = 300;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string tail(static_cast<size_t>(std::min(size, kTailBytes)), '\0');
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(tail, '\n')) {
    const absl::string_view text = absl::StripTrailingAsciiWhitespace(line);
    if (!text.empty()) lines.emplace_back(text.substr(0, kLongest));
  }
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - count);
  return lines;
}

std::string LastLine(const std::string& path) {
  const std::vector<std::string> lines = LastLinesOf(path, 1);
  return lines.empty() ? "" : lines[0];
}

}  // namespace paceline
