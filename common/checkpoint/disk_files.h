#ifndef PACELINE_COMMON_CHECKPOINT_DISK_FILES_H_
#define PACELINE_COMMON_CHECKPOINT_DISK_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/checkpoint/file_store.h"

namespace paceline {

// Folders of the file system.
class DiskFiles : public FileStore {
 public:
  absl::StatusOr<std::unique_ptr<ByteSource>> Open(
      const std::string& path) const override;
  absl::StatusOr<std::unique_ptr<ByteSink>> Create(
      const std::string& path, uint64_t bytes) const override;
  absl::Status WriteNew(const std::string& path,
                        absl::string_view text) const override;
  absl::Status MakeFolder(const std::string& path) const override;
  absl::Status EndUnfinished(const std::string& folder) const override;
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) const override;
  absl::Status Remove(const std::string& path) const override;
  absl::Status Flush(const std::string& folder) const override;
  absl::Status RemoveFolder(const std::string& folder) const override;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_DISK_FILES_H_
