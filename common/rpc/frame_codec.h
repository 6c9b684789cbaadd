#ifndef PACELINE_COMMON_RPC_FRAME_CODEC_H_
#define PACELINE_COMMON_RPC_FRAME_CODEC_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tensor/payload.h"
#include "protos/paceline/v1/parameters.pb.h"
#include "protos/paceline/v1/replication.pb.h"

namespace paceline {

// The wire of the bulk messages, v1::Frame and v1::ReplicaEntry. The header is
// ordinary Protobuf; the payload, the message's last field, is sent from where
// it lies and read from the transport's own slices. Byte-compatible with the
// generated classes in both directions (tests/common/rpc/frame_codec_test.cc).
// A Header is one of the two.

// `bytes` as a slice that keeps `owner` alive until the transport has sent it.
grpc::Slice BorrowSlice(absl::string_view bytes,
                        std::shared_ptr<const void> owner);

// The message whose fields but `payload` are `header`'s. The payload may come
// in pieces.
// REQUIRES: header.payload() is empty.
template <class Header>
grpc::ByteBuffer EncodeFrame(const Header& header,
                             std::vector<grpc::Slice> payload);
template <class Header>
grpc::ByteBuffer EncodeFrame(const Header& header) {
  return EncodeFrame(header, std::vector<grpc::Slice>());
}
template <class Header>
grpc::ByteBuffer EncodeFrame(const Header& header, grpc::Slice payload) {
  return EncodeFrame(header, std::vector<grpc::Slice>{std::move(payload)});
}

// A message as it came: `payload` refers to `slices`.
template <class Header>
struct Received {
  Header header;  // Without the payload.
  std::vector<grpc::Slice> slices;
  Payload payload;
};
using ReceivedFrame = Received<v1::Frame>;

// Accepts whatever a Protobuf serializer may write, the payload's field at any
// place. INVALID_ARGUMENT if the bytes are no such message.
template <class Header = v1::Frame>
absl::StatusOr<Received<Header>> DecodeFrame(const grpc::ByteBuffer& message);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_FRAME_CODEC_H_
