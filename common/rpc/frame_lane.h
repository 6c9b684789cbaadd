#ifndef PACELINE_COMMON_RPC_FRAME_LANE_H_
#define PACELINE_COMMON_RPC_FRAME_LANE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <optional>

#include "absl/status/statusor.h"
#include "common/lane/memory_lane.h"
#include "common/rpc/frame_codec.h"
#include "common/tensor/payload.h"
#include "protos/paceline/v1/parameters.pb.h"

namespace paceline {

// A frame whose payload goes through the lane if there is one (not null) and it
// has room, and otherwise in the frame. As EncodeFrame() and
// MemoryLane::Lend().
grpc::ByteBuffer EncodeFrame(v1::Frame header, grpc::Slice payload,
                             MemoryLane* lane);

// A frame whose payload is referred to, or nothing if it lies in no memory that
// the other end has. As MemoryLane::Refer().
std::optional<grpc::ByteBuffer> EncodeReference(v1::Frame header,
                                                const grpc::Slice& payload,
                                                MemoryLane& lane);

// The payload of a frame, wherever it lies. INVALID_ARGUMENT if that is a lane
// that is not there (null), or outside it.
absl::StatusOr<Payload> PayloadOf(const ReceivedFrame& frame,
                                  const MemoryLane* lane);

// Whether the payload was as it was sent until now. If not, whoever sent it
// does not wait for what becomes of it any more.
bool PayloadStood(const ReceivedFrame& frame, const MemoryLane* lane);

// The frame's payload has been read, if it lay in the lane.
void GiveBackPayload(const ReceivedFrame& frame, MemoryLane* lane);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_FRAME_LANE_H_
