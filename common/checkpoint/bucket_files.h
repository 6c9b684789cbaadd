#ifndef PACELINE_COMMON_CHECKPOINT_BUCKET_FILES_H_
#define PACELINE_COMMON_CHECKPOINT_BUCKET_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/checkpoint/file_store.h"
#include "common/object_store/s3_client.h"

namespace paceline {

// Folders that are prefixes in a bucket: s3://BUCKET/PREFIX. An object is there
// whole or not at all, and folders need not be made.
class BucketFiles : public FileStore {
 public:
  // `client` outlives this, and the files that it gives.
  explicit BucketFiles(S3Client* client) : client_(client) {}

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

 private:
  S3Client* const client_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_BUCKET_FILES_H_
