#ifndef PACELINE_TESTS_COMMON_TEST_FOLDER_H_
#define PACELINE_TESTS_COMMON_TEST_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/string_view.h"
#include "common/check.h"

namespace paceline {

// A folder of its own for a test, empty at first, removed at the end.
class TestFolder {
 public:
  TestFolder() : TestFolder(std::filesystem::temp_directory_path()) {}
  explicit TestFolder(const std::filesystem::path& parent)
      : path_((parent / "paceline-XXXXXX").string()) {
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(absl::string_view name) const {
    return path_ + "/" + std::string(name);
  }

  // Writes beside and renames, as whoever rotates certificates does. Returns
  // the path.
  std::string Write(absl::string_view name, absl::string_view content) const {
    const std::string whole = Path(name);
    const std::string beside = whole + ".new";
    {
      std::ofstream file(beside, std::ios::binary | std::ios::trunc);
      file << content;
      CHECK(file.good());
    }
    std::filesystem::rename(beside, whole);
    return whole;
  }

 private:
  std::string path_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_TEST_FOLDER_H_
