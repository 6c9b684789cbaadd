#ifndef PACELINE_COMMON_RPC_MESSAGE_BYTES_H_
#define PACELINE_COMMON_RPC_MESSAGE_BYTES_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <type_traits>

namespace paceline {

// Of a stream of frames: larger than a block with its header, far below gRPC's
// default of 4 MiB.
inline constexpr int kMaxFrameBytes = 2 << 20;
// Of every other message that a service is sent: job specs and reports, of
// which none comes near it. And that it answers with: a coordinator's pages and
// reports are larger than its requests.
inline constexpr int kMaxControlBytes = 4 << 20;
inline constexpr int kMaxControlAnswerBytes = 64 << 20;

// Of streams of such messages.
template <class Message>
inline constexpr int kMostRequestBytes =
    std::is_same_v<Message, grpc::ByteBuffer> ? kMaxFrameBytes
                                              : kMaxControlBytes;
template <class Message>
inline constexpr int kMostReplyBytes =
    std::is_same_v<Message, grpc::ByteBuffer> ? kMaxFrameBytes
                                              : kMaxControlAnswerBytes;

// What a message takes on the wire.
inline size_t MessageBytes(const grpc::ByteBuffer& message) {
  return message.Length();
}
inline size_t MessageBytes(const google::protobuf::MessageLite& message) {
  return message.ByteSizeLong();
}

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_MESSAGE_BYTES_H_
