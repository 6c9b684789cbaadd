#include "common/rpc/frame_batch.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/status.h"

namespace paceline {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint32_t kMoreTag = v1::Frame::kMoreFieldNumber << 3 |
                              WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

// Whether the message has as many followers as a batch at most, and they have
// none. Whatever else it is.
bool HasFewFollowers(grpc::ByteBuffer message) {
  grpc::ProtoBufferReader stream(&message);
  google::protobuf::io::CodedInputStream in(&stream);
  size_t followers = 0;
  while (const uint32_t tag = in.ReadTag()) {
    if (tag != kMoreTag) {
      if (!WireFormatLite::SkipField(&in, tag)) return true;
      continue;
    }
    uint32_t length = 0;
    if (++followers >= FrameBatch::kMost) return false;
    if (!in.ReadVarint32(&length)) return true;
    const auto limit = in.PushLimit(static_cast<int>(length));
    while (const uint32_t inner = in.ReadTag()) {
      if (inner == kMoreTag) return false;
      if (!WireFormatLite::SkipField(&in, inner)) return true;
    }
    if (in.BytesUntilLimit() > 0) return true;
    in.PopLimit(limit);
  }
  return true;
}

}  // namespace

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
  following_ += payload.size();
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
  if (!HasFewFollowers(message)) {
    return absl::InvalidArgumentError(
        "a frame with more followers than one may have, or followers of "
        "followers");
  }
  PACELINE_ASSIGN_OR_RETURN(ReceivedFrame head, DecodeFrame(message));
  auto more = std::move(*head.header.mutable_more());
  head.header.clear_more();
  PACELINE_RETURN_IF_ERROR(take(head));
  for (v1::Frame& header : more) {
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
