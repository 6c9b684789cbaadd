#ifndef PACELINE_COMMON_SAFETENSORS_BYTE_STREAM_H_
#define PACELINE_COMMON_SAFETENSORS_BYTE_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// Files as readers and writers of a format see them, wherever they lie: on a
// disk (InputFile, DurableFile) or in a bucket (common/object_store/).

struct WrittenFile {
  uint64_t bytes = 0;
  std::string sha256;  // In hexadecimal.
};

// A file open for reading at any place. Thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual const std::string& path() const = 0;
  // In bytes, when it was opened.
  virtual uint64_t size() const = 0;

  // Fills `out` with the bytes from `offset` on. DATA_LOSS if the file ends
  // before, is another one by now, or what it lies on fails.
  virtual absl::Status Read(uint64_t offset, absl::Span<char> out) const = 0;
};

// A file that is written from front to back, and is there whole or not at all:
// one that is destroyed before Commit() leaves nothing that could be taken for
// it. Thread-compatible.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // After an error only destruction makes sense.
  virtual absl::Status Write(absl::string_view bytes) = 0;

  // Puts the file in its place, over one that has its name. Called once, last.
  virtual absl::StatusOr<WrittenFile> Commit() = 0;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_BYTE_STREAM_H_
