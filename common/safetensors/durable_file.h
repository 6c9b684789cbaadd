#ifndef PACELINE_COMMON_SAFETENSORS_DURABLE_FILE_H_
#define PACELINE_COMMON_SAFETENSORS_DURABLE_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/safetensors/byte_stream.h"
#include "common/safetensors/sha256.h"
#include "common/unique_fd.h"

namespace paceline {

// A file that is there whole or not at all: what is written goes to
// PATH.tmp-..., and Commit() flushes it to the disk and gives it its name. One
// that is destroyed before that leaves nothing. Movable. Thread-compatible.
//
// Errors as FileError(); a full disk is RESOURCE_EXHAUSTED.
class DurableFile : public ByteSink {
 public:
  // NOT_FOUND if the folder is missing.
  static absl::StatusOr<DurableFile> Create(const std::string& path);

  ~DurableFile() override;
  DurableFile(DurableFile&&) noexcept = default;
  DurableFile& operator=(DurableFile&&) = delete;

  // Large pieces are written from where they lie. After an error only
  // destruction makes sense.
  absl::Status Write(absl::string_view bytes) override;

  // Puts the file in its place, over one that has its name. Called once, last.
  absl::StatusOr<WrittenFile> Commit() override;

 private:
  DurableFile(std::string path, std::string temporary, UniqueFd fd)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        fd_(std::move(fd)) {}

  absl::Status WriteOut(absl::string_view bytes);
  absl::Status FlushBuffer();

  std::string path_;
  std::string temporary_;
  UniqueFd fd_;  // None once it is committed.
  uint64_t bytes_ = 0;
  Sha256 sha256_;
  std::string buffer_;  // Small pieces, not yet written.
};

// Creates the folder and those above it that are missing, each of them durably.
absl::Status MakeFolders(const std::string& path);

// Makes sure that the entries of a folder outlive a crash.
absl::Status FlushFolder(const std::string& path);

// The folder that `path` lies in.
std::string FolderOf(const std::string& path);

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_DURABLE_FILE_H_
