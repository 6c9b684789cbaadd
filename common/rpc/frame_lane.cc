#include "common/rpc/frame_lane.h"

#include <optional>

#include "absl/strings/string_view.h"
#include "common/status.h"

namespace paceline {
namespace {

Lent LentOf(const v1::Frame& frame) {
  return {frame.lent().position(), frame.lent().length(),
          frame.lent().reference()};
}

absl::string_view BytesIn(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

void SetLent(const Lent& lent, v1::Frame& frame) {
  frame.mutable_lent()->set_position(lent.position);
  frame.mutable_lent()->set_length(lent.length);
  frame.mutable_lent()->set_reference(lent.reference);
}

}  // namespace

void LendPayload(v1::Frame& frame, grpc::Slice& payload, MemoryLane* lane) {
  if (lane == nullptr) return;
  const std::optional<Lent> lent = lane->Lend({BytesIn(payload)});
  if (!lent.has_value()) return;
  SetLent(*lent, frame);
  payload = grpc::Slice();
}

bool ReferToPayload(v1::Frame& frame, grpc::Slice& payload, MemoryLane& lane) {
  const std::optional<Lent> lent = lane.Refer(BytesIn(payload));
  if (!lent.has_value()) return false;
  SetLent(*lent, frame);
  payload = grpc::Slice();
  return true;
}

absl::StatusOr<Payload> PayloadOf(const ReceivedFrame& frame,
                                  const MemoryLane* lane) {
  if (!frame.header.has_lent()) return frame.payload;
  if (lane == nullptr) {
    return absl::InvalidArgumentError(
        "the payload lies in shared memory, and this stream has none");
  }
  if (frame.payload.size() > 0) {
    return absl::InvalidArgumentError("a payload in two places");
  }
  PACELINE_ASSIGN_OR_RETURN(const absl::string_view bytes,
                            lane->Look(LentOf(frame.header)));
  return Payload(bytes);
}

bool PayloadStood(const ReceivedFrame& frame, const MemoryLane* lane) {
  return lane == nullptr || !frame.header.has_lent() ||
         lane->Stood(LentOf(frame.header));
}

void GiveBackPayload(const ReceivedFrame& frame, MemoryLane* lane) {
  if (lane != nullptr && frame.header.has_lent()) {
    lane->GiveBack(LentOf(frame.header));
  }
}

}  // namespace paceline
