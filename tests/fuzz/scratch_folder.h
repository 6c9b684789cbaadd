#ifndef PACELINE_TESTS_FUZZ_SCRATCH_FOLDER_H_
#define PACELINE_TESTS_FUZZ_SCRATCH_FOLDER_H_

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "tests/common/test_folder.h"

namespace paceline {

// A folder for decoders that read files, gone with the process. In memory where
// the system has such a place: a disk would bound the speed.
class ScratchFolder : public TestFolder {
 public:
  ScratchFolder()
      : TestFolder(std::filesystem::is_directory("/dev/shm")
                       ? std::filesystem::path("/dev/shm")
                       : std::filesystem::temp_directory_path()) {}

  // Writes a file of that name; gives its path.
  std::string Write(absl::string_view name, absl::string_view bytes) const {
    std::string path = Path(name);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    CHECK(written == static_cast<ssize_t>(bytes.size()));
    close(fd);
    return path;
  }

  void Remove(absl::string_view name) const { unlink(Path(name).c_str()); }
};

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_SCRATCH_FOLDER_H_
