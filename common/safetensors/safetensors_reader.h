#ifndef PACELINE_COMMON_SAFETENSORS_SAFETENSORS_READER_H_
#define PACELINE_COMMON_SAFETENSORS_SAFETENSORS_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/safetensors/byte_stream.h"
#include "common/safetensors/safetensors_header.h"

namespace paceline {

// An open safetensors file whose header has been found sound. Movable.
// Thread-safe.
class SafetensorsReader {
 public:
  // NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT as InputFile::Open();
  // DATA_LOSS as ParseSafetensorsHeader().
  static absl::StatusOr<SafetensorsReader> Open(const std::string& path);
  // The same of a file that is open already, wherever it lies.
  static absl::StatusOr<SafetensorsReader> Open(
      std::unique_ptr<ByteSource> file);

  const SafetensorsHeader& header() const { return header_; }
  const std::string& path() const { return file_->path(); }
  uint64_t file_bytes() const { return file_->size(); }

  // Null if there is none of that name.
  const SafetensorsTensor* Find(absl::string_view name) const;

  // Fills `out` with the tensor's bytes from `offset` on. DATA_LOSS as
  // InputFile::Read().
  // REQUIRES: the tensor is one of this file's and has those bytes.
  absl::Status Read(const SafetensorsTensor& tensor, uint64_t offset,
                    absl::Span<char> out) const;

  // Reads the whole file. CANCELLED once `cancelled` gives true.
  absl::StatusOr<WrittenFile> Digest(
      const std::function<bool()>& cancelled) const;

 private:
  SafetensorsReader(std::unique_ptr<ByteSource> file, SafetensorsHeader header,
                    uint64_t data);

  std::unique_ptr<ByteSource> file_;
  SafetensorsHeader header_;
  uint64_t data_;  // Where the data begin in the file.
  absl::flat_hash_map<std::string, size_t> index_by_name_;
};

// Writes one safetensors file from front to back: the tensors are named first,
// then their bytes follow in that order, from where they lie. The file is there
// after Commit(), whole, and not before. Movable. Thread-compatible.
class SafetensorsWriter {
 public:
  // Makes the file, of which it is told how many bytes it will have.
  using MakeFile =
      std::function<absl::StatusOr<std::unique_ptr<ByteSink>>(uint64_t bytes)>;

  // Errors as DurableFile::Create() and FormatSafetensorsHeader().
  static absl::StatusOr<SafetensorsWriter> Create(
      const std::string& path,
      const std::map<std::string, std::string>& metadata,
      std::vector<SafetensorsTensor> tensors);
  // The same into a file that lies elsewhere. Errors as those of `make_file`.
  static absl::StatusOr<SafetensorsWriter> Create(
      const MakeFile& make_file,
      const std::map<std::string, std::string>& metadata,
      std::vector<SafetensorsTensor> tensors);

  // The next bytes, which may end anywhere. INVALID_ARGUMENT if there are more
  // than the tensors have; otherwise as ByteSink::Write().
  absl::Status Append(absl::string_view bytes);

  // FAILED_PRECONDITION if bytes are missing; otherwise as
  // ByteSink::Commit(). Called once, last.
  absl::StatusOr<WrittenFile> Commit();

 private:
  SafetensorsWriter(std::unique_ptr<ByteSink> file, uint64_t missing)
      : file_(std::move(file)), missing_(missing) {}

  std::unique_ptr<ByteSink> file_;
  uint64_t missing_;  // Bytes of tensors, still to come.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_SAFETENSORS_READER_H_
