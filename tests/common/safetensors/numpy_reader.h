#ifndef PACELINE_TESTS_COMMON_SAFETENSORS_NUMPY_READER_H_
#define PACELINE_TESTS_COMMON_SAFETENSORS_NUMPY_READER_H_

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/common/test_paths.h"

namespace paceline {

// What read_safetensors.py prints about a file. Nothing if this machine has no
// Python with numpy.
inline std::optional<std::string> ReadWithNumpy(const std::string& path) {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const std::string probe =
        absl::StrCat(python, " -c 'import numpy' 2>/dev/null");
    if (std::system(probe.c_str()) != 0) continue;
    const std::string command = absl::StrCat(
        python, " ", TestDataPath("../common/safetensors/read_safetensors.py"),
        " '", path, "'");
    FILE* const output = popen(command.c_str(), "r");
    if (output == nullptr) return std::nullopt;
    std::string text;
    std::array<char, 4096> chunk;
    while (const size_t got = fread(chunk.data(), 1, chunk.size(), output)) {
      text.append(chunk.data(), got);
    }
    pclose(output);
    return text;
  }
  return std::nullopt;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SAFETENSORS_NUMPY_READER_H_
