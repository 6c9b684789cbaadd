#ifndef PACELINE_COMMON_OBJECT_STORE_OBJECT_WRITER_H_
#define PACELINE_COMMON_OBJECT_STORE_OBJECT_WRITER_H_

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/object_store/s3_client.h"
#include "common/object_store/s3_uri.h"
#include "common/safetensors/byte_stream.h"
#include "common/safetensors/sha256.h"

namespace paceline {

// An object as a file to write: a small one in one call, a larger one in parts,
// a few of them at a time, each tried again by itself. It is there after
// Commit(), whole, and not before; one that is destroyed ends its upload, so
// that the store keeps no parts. Thread-compatible.
class ObjectWriter : public ByteSink {
 public:
  // About so many bytes will come, by which the size of parts is chosen; 0: it
  // is not known. `client` outlives this.
  ObjectWriter(S3Client* client, S3Uri object, uint64_t bytes);
  // Waits for the parts that are under way.
  ~ObjectWriter() override;
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // Errors as S3Client; RESOURCE_EXHAUSTED also for more than an upload may
  // have.
  absl::Status Write(absl::string_view bytes) override;
  absl::StatusOr<WrittenFile> Commit() override;

 private:
  // Sends what is in the buffer as the next part, on a thread of its own.
  absl::Status SendPart();
  // Waits for the part that was sent first of those under way.
  absl::Status AwaitPart();
  absl::Status Complete();

  S3Client* const client_;
  const S3Uri object_;
  const size_t part_bytes_;
  Sha256 sha256_;
  uint64_t bytes_ = 0;
  std::string buffer_;
  std::string mark_;    // The object's that this makes, and no other's.
  std::string upload_;  // Empty: none is open.
  int parts_sent_ = 0;
  std::deque<std::future<absl::StatusOr<std::string>>> under_way_;
  std::vector<std::string> tags_;  // Of parts that have arrived.
};

// How large parts are for a file of so many bytes.
size_t PartBytes(uint64_t bytes);

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_OBJECT_WRITER_H_
