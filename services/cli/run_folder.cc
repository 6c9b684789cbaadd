#include "services/cli/run_folder.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace paceline {
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

void RemoveFile(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

std::string LastLine(const std::string& path) {
  constexpr std::streamoff kTailBytes = 4096;
  constexpr size_t kLongest = 300;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string tail(static_cast<size_t>(std::min(size, kTailBytes)), '\0');
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  const absl::string_view text = absl::StripAsciiWhitespace(tail);
  return std::string(text.substr(text.rfind('\n') + 1).substr(0, kLongest));
}

}  // namespace paceline
