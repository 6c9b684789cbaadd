#ifndef PACELINE_COMMON_OBJECT_STORE_OBJECT_READER_H_
#define PACELINE_COMMON_OBJECT_STORE_OBJECT_READER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "common/object_store/s3_client.h"
#include "common/object_store/s3_uri.h"
#include "common/safetensors/byte_stream.h"

namespace paceline {

// An object as a file to read. What is read one after the other is fetched in
// pieces of megabytes, for each call takes tens of milliseconds; what is read
// here and there is fetched as it is. Keeps two pieces. Thread-safe, one read
// at a time.
class ObjectReader : public ByteSource {
 public:
  // Errors as S3Client::Get(). `client` outlives this.
  static absl::StatusOr<std::unique_ptr<ObjectReader>> Open(
      S3Client* client, const S3Uri& object);

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }

  // DATA_LOSS also if the object was replaced after it was opened.
  absl::Status Read(uint64_t offset, absl::Span<char> out) const override;

 private:
  struct Piece {
    uint64_t begin = 0;
    std::string bytes;
    uint64_t last_use = 0;

    uint64_t end() const { return begin + bytes.size(); }
  };

  ObjectReader(S3Client* client, S3Uri object, ObjectRange first);

  // The piece that has the byte at `offset`, fetched if need be.
  absl::StatusOr<const Piece*> PieceAt(uint64_t offset, uint64_t wanted) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  S3Client* const client_;
  const S3Uri object_;
  const std::string path_;
  const uint64_t size_;
  const std::string etag_;
  mutable absl::Mutex mu_;  // Held while a piece is fetched.
  mutable std::array<Piece, 2> pieces_ ABSL_GUARDED_BY(mu_);
  mutable uint64_t uses_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_OBJECT_READER_H_
