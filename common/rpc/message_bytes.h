#ifndef PACELINE_COMMON_RPC_MESSAGE_BYTES_H_
#define PACELINE_COMMON_RPC_MESSAGE_BYTES_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

namespace paceline {

// Of a stream of frames: larger than a block with its header, far below gRPC's
// default of 4 MiB.
inline constexpr int kMaxFrameBytes = 2 << 20;

// What a message takes on the wire.
inline size_t MessageBytes(const grpc::ByteBuffer& message) {
  return message.Length();
}
inline size_t MessageBytes(const google::protobuf::MessageLite& message) {
  return message.ByteSizeLong();
}

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_MESSAGE_BYTES_H_
