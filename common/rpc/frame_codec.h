#ifndef PACELINE_COMMON_RPC_FRAME_CODEC_H_
#define PACELINE_COMMON_RPC_FRAME_CODEC_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tensor/payload.h"
#include "protos/paceline/v1/parameters.pb.h"

namespace paceline {

// The wire of the one bulk message, v1::Frame. The header is ordinary Protobuf;
// the payload, the message's last field, is sent from where it lies and read
// from the transport's own slices. Byte-compatible with the generated class in
// both directions (tests/common/rpc/frame_codec_test.cc).

// `bytes` as a slice that keeps `owner` alive until the transport has sent it.
grpc::Slice BorrowSlice(absl::string_view bytes,
                        std::shared_ptr<const void> owner);

// The message whose fields but `payload` are `header`'s.
// REQUIRES: header.payload() is empty.
grpc::ByteBuffer EncodeFrame(const v1::Frame& header);
grpc::ByteBuffer EncodeFrame(const v1::Frame& header, grpc::Slice payload);

// A frame as it came: `payload` refers to `slices`.
struct ReceivedFrame {
  v1::Frame header;  // Without the payload.
  std::vector<grpc::Slice> slices;
  Payload payload;
};

// Accepts whatever a Protobuf serializer may write, the payload's field at any
// place. INVALID_ARGUMENT if the bytes are no v1::Frame.
absl::StatusOr<ReceivedFrame> DecodeFrame(const grpc::ByteBuffer& message);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_FRAME_CODEC_H_
