#ifndef PACELINE_TESTS_FUZZ_SCRATCH_FOLDER_H_
#define PACELINE_TESTS_FUZZ_SCRATCH_FOLDER_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace paceline {

// A folder for decoders that read files, gone with the process. In memory where
// the system has such a place: a disk would bound the speed.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    const bool in_memory = std::filesystem::is_directory("/dev/shm", error);
    path_ = in_memory ? "/dev/shm"
                      : std::filesystem::temp_directory_path(error).string();
    path_ += "/paceline_fuzz_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

  // Writes a file of that name; gives its path.
  std::string Write(absl::string_view name, absl::string_view bytes) const {
    std::string path = absl::StrCat(path_, "/", name);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    CHECK(written == static_cast<ssize_t>(bytes.size()));
    close(fd);
    return path;
  }

  void Remove(absl::string_view name) const {
    unlink(absl::StrCat(path_, "/", name).c_str());
  }

 private:
  std::string path_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_SCRATCH_FOLDER_H_
