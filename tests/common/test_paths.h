#ifndef PACELINE_TESTS_COMMON_TEST_PATHS_H_
#define PACELINE_TESTS_COMMON_TEST_PATHS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// A file or folder below tests/testdata.
std::string TestDataPath(absl::string_view name);

// A program that was built beside the tests.
std::string ProgramPath(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_TEST_PATHS_H_
