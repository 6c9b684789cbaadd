#include "common/rpc/frame_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "common/check.h"

namespace paceline {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kPayloadTag = v1::Frame::kPayloadFieldNumber << 3 |
                                 WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

absl::string_view View(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// The slices as one stream, as Protobuf's readers want it.
class SliceInputStream : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit SliceInputStream(absl::Span<const grpc::Slice> slices)
      : slices_(slices) {}

  bool Next(const void** data, int* size) override {
    while (index_ < slices_.size() && offset_ == slices_[index_].size()) {
      ++index_;
      offset_ = 0;
    }
    if (index_ == slices_.size()) return false;
    *data = slices_[index_].begin() + offset_;
    *size = static_cast<int>(slices_[index_].size() - offset_);
    offset_ = slices_[index_].size();
    position_ += *size;
    return true;
  }

  void BackUp(int count) override {
    offset_ -= count;
    position_ -= count;
  }

  bool Skip(int count) override {
    const void* data;
    int size = 0;
    while (count > 0) {
      if (!Next(&data, &size)) return false;
      if (size > count) BackUp(size - count);
      count -= std::min(count, size);
    }
    return true;
  }

  int64_t ByteCount() const override { return position_; }

 private:
  absl::Span<const grpc::Slice> slices_;
  size_t index_ = 0;
  size_t offset_ = 0;
  int64_t position_ = 0;
};

// The part [begin, begin + size) of the slices.
Payload SubPayload(absl::Span<const grpc::Slice> slices, size_t begin,
                   size_t size) {
  Payload payload;
  for (const grpc::Slice& slice : slices) {
    if (size == 0) break;
    if (begin >= slice.size()) {
      begin -= slice.size();
      continue;
    }
    const absl::string_view part = View(slice).substr(begin, size);
    payload.Append(part);
    size -= part.size();
    begin = 0;
  }
  return payload;
}

// Where the payload's bytes lie, and everything else as a serialized header.
struct Layout {
  std::string header;
  size_t payload_begin = 0;
  size_t payload_size = 0;
};

bool FindPayload(absl::Span<const grpc::Slice> slices, Layout& layout) {
  SliceInputStream stream(slices);
  CodedInputStream in(&stream);
  google::protobuf::io::StringOutputStream header_stream(&layout.header);
  CodedOutputStream header(&header_stream);
  while (const uint32_t tag = in.ReadTag()) {
    if (tag != kPayloadTag) {
      if (!WireFormatLite::SkipField(&in, tag, &header)) return false;
      continue;
    }
    uint32_t size = 0;
    if (!in.ReadVarint32(&size)) return false;
    // The last one wins, as for every Protobuf field that comes twice.
    layout.payload_begin = in.CurrentPosition();
    layout.payload_size = size;
    if (!in.Skip(static_cast<int>(size))) return false;
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

grpc::Slice BorrowSlice(absl::string_view bytes,
                        std::shared_ptr<const void> owner) {
  auto* held = new std::shared_ptr<const void>(std::move(owner));
  return grpc::Slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* p) { delete static_cast<std::shared_ptr<const void>*>(p); },
      held);
}

grpc::ByteBuffer EncodeFrame(const v1::Frame& header) {
  return EncodeFrame(header, grpc::Slice());
}

grpc::ByteBuffer EncodeFrame(const v1::Frame& header, grpc::Slice payload) {
  CHECK(header.payload().empty());
  std::string bytes = header.SerializeAsString();
  if (payload.size() == 0) {
    const grpc::Slice slice(bytes);
    return grpc::ByteBuffer(&slice, 1);
  }
  uint8_t prefix[2 * 5];  // Two varints of 32 bits.
  uint8_t* end = CodedOutputStream::WriteTagToArray(kPayloadTag, prefix);
  end = CodedOutputStream::WriteVarint32ToArray(
      static_cast<uint32_t>(payload.size()), end);
  bytes.append(reinterpret_cast<const char*>(prefix), end - prefix);
  const grpc::Slice slices[2] = {grpc::Slice(bytes), std::move(payload)};
  return grpc::ByteBuffer(slices, 2);
}

absl::StatusOr<ReceivedFrame> DecodeFrame(const grpc::ByteBuffer& message) {
  ReceivedFrame frame;
  if (!message.Dump(&frame.slices).ok()) {
    return absl::InvalidArgumentError("the frame cannot be read");
  }
  Layout layout;
  if (!FindPayload(frame.slices, layout) ||
      !frame.header.ParseFromString(layout.header)) {
    return absl::InvalidArgumentError("the message is no paceline.v1.Frame");
  }
  frame.payload =
      SubPayload(frame.slices, layout.payload_begin, layout.payload_size);
  return frame;
}

}  // namespace paceline
