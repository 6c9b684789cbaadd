#ifndef PACELINE_SERVICES_WORKER_DATA_BYTE_FILE_H_
#define PACELINE_SERVICES_WORKER_DATA_BYTE_FILE_H_

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace paceline {

// A file read from its beginning to its end, unpacked on the way if it is
// gzip. All messages begin with the path. Thread-compatible.
class ByteFile {
 public:
  // NOT_FOUND if there is none; PERMISSION_DENIED and the like as the system
  // says.
  static absl::StatusOr<ByteFile> Open(const std::string& path);

  // Appends exactly `count` bytes to `to`. DATA_LOSS if the file ends before,
  // or if its compression is damaged. Takes memory for what is really there,
  // not for what a header claims.
  absl::Status Read(uint64_t count, std::vector<uint8_t>& to);

  // The four bytes of a big-endian number.
  absl::StatusOr<uint32_t> ReadBigEndian();

  // DATA_LOSS unless everything has been read.
  absl::Status ExpectEnd();

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };

  ByteFile(std::string path, gzFile file)
      : path_(std::move(path)), file_(file) {}

  // Up to `count` bytes; 0 at the end.
  absl::StatusOr<size_t> ReadSome(size_t count, uint8_t* to);

  std::string path_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_BYTE_FILE_H_
