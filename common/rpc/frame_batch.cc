#include "common/rpc/frame_batch.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/status.h"

namespace paceline {

void FrameBatch::Add(v1::Frame frame, grpc::Slice payload, size_t carries) {
  CHECK(frame.more().empty());
  ++frames_;
  carries_ += std::min(carries, std::numeric_limits<size_t>::max() - carries_);
  if (!head_.has_value()) {
    head_ = std::move(frame);
    payload_ = std::move(payload);
    return;
  }
  CHECK(payload.size() <= kMostFollowing);
  if (payload.size() > 0) {
    frame.set_payload(payload.begin(), payload.size());
  }
  *head_->add_more() = std::move(frame);
}

grpc::ByteBuffer FrameBatch::Take() {
  CHECK(!empty());
  grpc::ByteBuffer message = EncodeFrame(*head_, std::move(payload_));
  *this = FrameBatch();
  return message;
}

absl::Status TakeFrames(const grpc::ByteBuffer& message,
                        absl::FunctionRef<absl::Status(ReceivedFrame&)> take) {
  PACELINE_ASSIGN_OR_RETURN(ReceivedFrame head, DecodeFrame(message));
  auto more = std::move(*head.header.mutable_more());
  head.header.clear_more();
  PACELINE_RETURN_IF_ERROR(take(head));
  for (v1::Frame& header : more) {
    if (!header.more().empty()) {
      return absl::InvalidArgumentError(
          "a frame that follows another has followers of its own");
    }
    ReceivedFrame frame;
    const std::unique_ptr<std::string> payload(header.release_payload());
    frame.header = std::move(header);
    if (payload != nullptr && !payload->empty()) {
      const grpc::Slice& slice = frame.slices.emplace_back(*payload);
      frame.payload.Append(absl::string_view(
          reinterpret_cast<const char*>(slice.begin()), slice.size()));
    }
    PACELINE_RETURN_IF_ERROR(take(frame));
  }
  return absl::OkStatus();
}

}  // namespace paceline
