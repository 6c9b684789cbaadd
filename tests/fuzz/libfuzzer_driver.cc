// The entry points that libFuzzer calls.

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/fuzz_target.h"

// The seeds go to the first corpus folder of the command line, from where
// libFuzzer reads them: so they are code, and no binary files of the tree.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string folder = (*argv)[i];
    if (!std::filesystem::is_directory(folder)) continue;
    int number = 0;
    for (const std::string& seed : paceline::FuzzSeeds()) {
      std::ofstream file(absl::StrCat(folder, "/seed-", number++),
                         std::ios::binary);
      file << seed;
    }
    break;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  paceline::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
