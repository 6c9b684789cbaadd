#ifndef PACELINE_TESTS_COMMON_SECURITY_TEST_FOLDER_H_
#define PACELINE_TESTS_COMMON_SECURITY_TEST_FOLDER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// A folder of its own for a test, removed at the end.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string Path(absl::string_view name) const;

  // Writes beside and renames, as whoever rotates certificates does. Returns
  // the path.
  std::string Write(absl::string_view name, absl::string_view content) const;

 private:
  std::string root_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SECURITY_TEST_FOLDER_H_
