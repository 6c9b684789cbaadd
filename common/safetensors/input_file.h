#ifndef PACELINE_COMMON_SAFETENSORS_INPUT_FILE_H_
#define PACELINE_COMMON_SAFETENSORS_INPUT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/safetensors/byte_stream.h"
#include "common/unique_fd.h"

namespace paceline {

// What the system said when it could not do `doing` ("write FILE"):
// NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED (a read-only file system
// included), RESOURCE_EXHAUSTED for a full disk, a quota or too many open
// files, DATA_LOSS for a disk that fails, otherwise as absl::ErrnoToStatus().
absl::Status FileError(int error_number, absl::string_view doing);

// A file open for reading at any place. It is read, not mapped: one that
// another program cuts off gives an error then instead of a signal. Movable.
// Thread-safe.
class InputFile : public ByteSource {
 public:
  // NOT_FOUND, PERMISSION_DENIED; INVALID_ARGUMENT for what is no plain file.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  const std::string& path() const override { return path_; }
  // In bytes, when it was opened.
  uint64_t size() const override { return size_; }

  // Fills `out` with the bytes from `offset` on. DATA_LOSS if the file ends
  // before, or the disk fails.
  absl::Status Read(uint64_t offset, absl::Span<char> out) const override;

 private:
  InputFile(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
  uint64_t size_ = 0;
};

// A whole file of at most `max_bytes`. As Open() and Read(); DATA_LOSS if it
// is larger.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          uint64_t max_bytes);

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_INPUT_FILE_H_
