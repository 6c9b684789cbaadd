#ifndef PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_WIRE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/rpc/frame_codec.h"
#include "protos/paceline/v1/replication.pb.h"
#include "services/parameter_server/job_shard.h"
#include "services/parameter_server/replica_entry.h"

namespace paceline {

// Between the entries of a log and the messages of replication.proto.

// The messages of one entry; payloads are sent from where they lie.
std::vector<grpc::ByteBuffer> ToWire(const ReplicaEntry& entry,
                                     bool acknowledge);

// Puts the messages of one stream together to entries.
// Thread-compatible.
class ReplicaReader {
 public:
  // The shard that the entries are of; it says how large blocks are.
  explicit ReplicaReader(std::shared_ptr<JobShard> shard)
      : shard_(std::move(shard)) {}

  // The entry that the message completes; nothing if there is more to come. It
  // refers to the message's bytes. INVALID_ARGUMENT for what no primary sends.
  absl::StatusOr<std::optional<ReplicaEntry>> Read(
      const Received<v1::ReplicaEntry>& message);

 private:
  absl::StatusOr<std::optional<ReplicaEntry>> ReadState(
      const v1::ReplicaState& state, const Payload& payload);

  const std::shared_ptr<JobShard> shard_;
  std::shared_ptr<BlockState> state_;  // Of which arrays are missing.
  uint32_t block_ = 0;
  int next_array_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_WIRE_H_
