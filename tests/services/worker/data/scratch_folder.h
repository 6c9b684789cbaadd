#ifndef PACELINE_TESTS_SERVICES_WORKER_DATA_SCRATCH_FOLDER_H_
#define PACELINE_TESTS_SERVICES_WORKER_DATA_SCRATCH_FOLDER_H_

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/check.h"
#include "tests/common/test_folder.h"

namespace paceline {

using Bytes = std::vector<uint8_t>;

inline Bytes Joined(Bytes head, const Bytes& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

// A folder for files of bytes.
class ScratchFolder : public TestFolder {
 public:
  void Write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(Path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  void WriteGz(const std::string& name, const Bytes& bytes) const {
    gzFile file = gzopen(Path(name).c_str(), "wb");
    CHECK(file != nullptr);
    const auto size = static_cast<unsigned>(bytes.size());
    CHECK(gzwrite(file, bytes.data(), size) == static_cast<int>(size));
    CHECK(gzclose(file) == Z_OK);
  }

  Bytes Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void Remove(const std::string& name) const {
    std::filesystem::remove(Path(name));
  }
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_DATA_SCRATCH_FOLDER_H_
