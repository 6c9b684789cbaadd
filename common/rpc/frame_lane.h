#ifndef PACELINE_COMMON_RPC_FRAME_LANE_H_
#define PACELINE_COMMON_RPC_FRAME_LANE_H_

#include <grpcpp/support/slice.h>

#include "absl/status/statusor.h"
#include "common/lane/memory_lane.h"
#include "common/rpc/frame_codec.h"
#include "common/tensor/payload.h"
#include "protos/paceline/v1/parameters.pb.h"

namespace paceline {

// Puts the frame's payload into the lane if there is one (not null) and it has
// room: then the frame says where, and `payload` is empty. Otherwise nothing
// changes. As MemoryLane::Lend().
void LendPayload(v1::Frame& frame, grpc::Slice& payload, MemoryLane* lane);

// Lets the frame refer to the payload, which is empty then. False, and nothing
// changes, if it lies in no memory that the other end has. As
// MemoryLane::Refer().
bool ReferToPayload(v1::Frame& frame, grpc::Slice& payload, MemoryLane& lane);

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
