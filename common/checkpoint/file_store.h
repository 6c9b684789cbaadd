#ifndef PACELINE_COMMON_CHECKPOINT_FILE_STORE_H_
#define PACELINE_COMMON_CHECKPOINT_FILE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/safetensors/byte_stream.h"
#include "common/safetensors/safetensors_reader.h"

namespace paceline {

// Where the folders of checkpoints are: on a disk, or in a bucket of
// S3-compatible storage, where what is below s3://BUCKET/PREFIX is its folder.
// Who works with a checkpoint knows the folder's path and asks FilesAt() for
// what has it. Thread-safe; calls take as long as the disk or the store takes.
//
// Errors as FileError() or S3Client; a full disk or bucket is
// RESOURCE_EXHAUSTED.
class FileStore {
 public:
  virtual ~FileStore() = default;

  // NOT_FOUND if there is no such file.
  virtual absl::StatusOr<std::unique_ptr<ByteSource>> Open(
      const std::string& path) const = 0;

  // A file of about so many bytes, in a folder that is there. 0: as many as
  // come.
  virtual absl::StatusOr<std::unique_ptr<ByteSink>> Create(
      const std::string& path, uint64_t bytes) const = 0;

  // A small file. ALREADY_EXISTS, and it stays, if it is there.
  virtual absl::Status WriteNew(const std::string& path,
                                absl::string_view text) const = 0;

  // With those above it that are missing.
  virtual absl::Status MakeFolder(const std::string& path) const = 0;

  // Ends what somebody was writing below the folder, where that is more than
  // files in it: a bucket keeps the parts of uploads that nobody completes.
  virtual absl::Status EndUnfinished(const std::string& folder) const = 0;

  // The names of what is in the folder, in no order. NOT_FOUND if there is no
  // such folder: in a bucket, one in which nothing is.
  virtual absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) const = 0;

  // OK also if there is no such file.
  virtual absl::Status Remove(const std::string& path) const = 0;
  // What was removed of the folder stays so, whatever happens.
  virtual absl::Status Flush(const std::string& folder) const = 0;
  // UNAVAILABLE if something is in it.
  virtual absl::Status RemoveFolder(const std::string& folder) const = 0;
};

// What has that path. INVALID_ARGUMENT for one that begins like s3:// and is
// wrong, and for an environment by which no store can be found.
absl::StatusOr<const FileStore*> FilesAt(const std::string& path);

// "FOLDER/NAME", also if the folder ends with a slash.
std::string PathIn(absl::string_view folder, absl::string_view name);

// A whole file of at most `max_bytes`; DATA_LOSS if it is larger.
absl::StatusOr<std::string> ReadWholeFileAt(const std::string& path,
                                            uint64_t max_bytes);
// FilesAt() and its Open().
absl::StatusOr<std::unique_ptr<ByteSource>> OpenAt(const std::string& path);
// FilesAt() and its Create().
absl::StatusOr<std::unique_ptr<ByteSink>> CreateAt(const std::string& path,
                                                   uint64_t bytes);
// The same for a safetensors file.
SafetensorsWriter::MakeFile MakerOf(const std::string& path);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_FILE_STORE_H_
