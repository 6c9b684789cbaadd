#include "tests/common/security/test_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

TestFolder::TestFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "paceline-XXXXXX").string();
  CHECK(mkdtemp(name.data()) != nullptr);
  root_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::string TestFolder::Path(absl::string_view name) const {
  return absl::StrCat(root_, "/", name);
}

std::string TestFolder::Write(absl::string_view name,
                              absl::string_view content) const {
  const std::string path = Path(name);
  const std::string beside = absl::StrCat(path, ".new");
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << content;
    CHECK(file.good());
  }
  std::filesystem::rename(beside, path);
  return path;
}

}  // namespace paceline
