#include "tests/common/test_paths.h"

#include "absl/strings/str_cat.h"

namespace paceline {

std::string TestDataPath(absl::string_view name) {
  return absl::StrCat(PACELINE_TESTDATA "/", name);
}

std::string ProgramPath(absl::string_view name) {
  return absl::StrCat(PACELINE_BIN "/", name);
}

}  // namespace paceline
