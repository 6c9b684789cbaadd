#include "common/rpc/stream_bypass.h"

namespace paceline {
namespace {

// Others are given back once they are sent.
constexpr size_t kMostKept = size_t{1} << 20;

}  // namespace

void BypassedBytes::Hold(const grpc::ByteBuffer& message) {
  pieces_.clear();
  if (!message.Dump(&slices_).ok()) return;  // Never, for a message.
  for (const grpc::Slice& slice : slices_) {
    pieces_.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                         slice.size());
  }
}

void BypassedBytes::Hold(const google::protobuf::MessageLite& message) {
  bytes_.clear();
  message.AppendToString(&bytes_);
  pieces_ = {bytes_};
}

void BypassedBytes::Drop() {
  slices_.clear();
  pieces_.clear();
  if (bytes_.capacity() > kMostKept) std::string().swap(bytes_);
}

absl::Status ReadBypassed(absl::string_view bytes, grpc::ByteBuffer& message) {
  grpc::Slice slice(bytes.data(), bytes.size());
  message = grpc::ByteBuffer(&slice, 1);
  return absl::OkStatus();
}

absl::Status ReadBypassed(absl::string_view bytes,
                          google::protobuf::MessageLite& message) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return absl::InternalError("what came by the socket is no message");
}

}  // namespace paceline
