#ifndef PACELINE_TESTS_SERVICES_WORKER_DATA_SCRATCH_FOLDER_H_
#define PACELINE_TESTS_SERVICES_WORKER_DATA_SCRATCH_FOLDER_H_

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "gtest/gtest.h"

namespace paceline {

using Bytes = std::vector<uint8_t>;

inline Bytes Joined(Bytes head, const Bytes& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

// A folder of the test's own, empty at first, gone in the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = absl::StrCat(testing::TempDir(), "/pacelineXXXXXX");
    CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

  void Write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(absl::StrCat(path_, "/", name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  void WriteGz(const std::string& name, const Bytes& bytes) const {
    gzFile file = gzopen(absl::StrCat(path_, "/", name).c_str(), "wb");
    CHECK(file != nullptr);
    const auto size = static_cast<unsigned>(bytes.size());
    CHECK(gzwrite(file, bytes.data(), size) == static_cast<int>(size));
    CHECK(gzclose(file) == Z_OK);
  }

  Bytes Read(const std::string& name) const {
    std::ifstream file(absl::StrCat(path_, "/", name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void Remove(const std::string& name) const {
    std::filesystem::remove(absl::StrCat(path_, "/", name));
  }

 private:
  std::string path_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_DATA_SCRATCH_FOLDER_H_
