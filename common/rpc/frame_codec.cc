#include "common/rpc/frame_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/check.h"

namespace paceline {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kPayloadTag = v1::Frame::kPayloadFieldNumber << 3 |
                                 WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

constexpr int kVarint32Bytes = 5;

absl::string_view View(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// Ranges of the slices' bytes from the front to the back. It looks at each
// slice once, or a message of many slices and fields would take their product.
class SliceCursor {
 public:
  explicit SliceCursor(absl::Span<const grpc::Slice> slices)
      : slices_(slices) {}

  // Calls visit(bytes) for each piece of [begin, end).
  // REQUIRES: `begin` is not before the last call's `end`.
  template <class Visitor>
  void Visit(size_t begin, size_t end, Visitor visit) {
    while (index_ < slices_.size() && position_ < end) {
      const absl::string_view bytes = View(slices_[index_]);
      const size_t from = std::max(begin, position_);
      const size_t to = std::min(end, position_ + bytes.size());
      if (from < to) visit(bytes.substr(from - position_, to - from));
      if (position_ + bytes.size() > end) return;  // The next range's too.
      position_ += bytes.size();
      ++index_;
    }
  }

 private:
  absl::Span<const grpc::Slice> slices_;
  size_t index_ = 0;
  size_t position_ = 0;  // Where the slice's first byte lies.
};

// Where the payload's bytes lie, and everything else as a serialized header.
struct Layout {
  std::string header;
  size_t payload_begin = 0;
  size_t payload_end = 0;
};

// A length as generated classes take it: of at most five bytes and 31 bits.
bool ReadLength(CodedInputStream& in, int& length) {
  const int begin = in.CurrentPosition();
  uint64_t value = 0;
  if (!in.ReadVarint64(&value) || value > INT_MAX) return false;
  length = static_cast<int>(value);
  return in.CurrentPosition() - begin <= kVarint32Bytes;
}

// `slices` are those of the message. The header's fields are copied as they
// are: whether they are sound is for the generated class to say, which is
// stricter than the skipping here.
bool FindPayload(grpc::ByteBuffer message, absl::Span<const grpc::Slice> slices,
                 Layout& layout) {
  grpc::ProtoBufferReader stream(&message);
  CodedInputStream in(&stream);
  SliceCursor cursor(slices);
  int copied = 0;
  const auto copy_header = [&](int end) {
    cursor.Visit(copied, end, [&layout](absl::string_view bytes) {
      layout.header.append(bytes.data(), bytes.size());
    });
  };
  while (true) {
    const int begin = in.CurrentPosition();
    const uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    if (tag != kPayloadTag) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    int size = 0;
    if (in.CurrentPosition() - begin > kVarint32Bytes) return false;
    if (!ReadLength(in, size)) return false;
    // The last one wins, as for every Protobuf field that comes twice.
    layout.payload_begin = in.CurrentPosition();
    layout.payload_end = layout.payload_begin + size;
    if (!in.Skip(size)) return false;
    copy_header(begin);
    copied = in.CurrentPosition();
  }
  copy_header(in.CurrentPosition());
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

template <class Header>
grpc::ByteBuffer EncodeFrame(const Header& header,
                             std::vector<grpc::Slice> payload) {
  static_assert(int{Header::kPayloadFieldNumber} ==
                int{v1::Frame::kPayloadFieldNumber});
  CHECK(header.payload().empty());
  std::string bytes = header.SerializeAsString();
  size_t size = 0;
  for (const grpc::Slice& piece : payload) size += piece.size();
  if (size > 0) {
    uint8_t prefix[2 * kVarint32Bytes];
    uint8_t* end = CodedOutputStream::WriteTagToArray(kPayloadTag, prefix);
    end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(size),
                                                  end);
    bytes.append(reinterpret_cast<const char*>(prefix), end - prefix);
  }
  std::vector<grpc::Slice> slices;
  slices.reserve(1 + payload.size());
  slices.emplace_back(bytes);
  for (grpc::Slice& piece : payload) {
    if (piece.size() > 0) slices.push_back(std::move(piece));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

template <class Header>
absl::StatusOr<Received<Header>> DecodeFrame(const grpc::ByteBuffer& message) {
  Received<Header> frame;
  if (!message.Dump(&frame.slices).ok()) {
    return absl::InvalidArgumentError("the frame cannot be read");
  }
  Layout layout;
  if (!FindPayload(message, frame.slices, layout) ||
      !frame.header.ParseFromString(layout.header)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the message is no ", Header::descriptor()->full_name()));
  }
  SliceCursor cursor(frame.slices);
  cursor.Visit(
      layout.payload_begin, layout.payload_end,
      [&frame](absl::string_view bytes) { frame.payload.Append(bytes); });
  return frame;
}

template grpc::ByteBuffer EncodeFrame(const v1::Frame&,
                                      std::vector<grpc::Slice>);
template grpc::ByteBuffer EncodeFrame(const v1::ReplicaEntry&,
                                      std::vector<grpc::Slice>);
template absl::StatusOr<Received<v1::Frame>> DecodeFrame<v1::Frame>(
    const grpc::ByteBuffer&);
template absl::StatusOr<Received<v1::ReplicaEntry>>
DecodeFrame<v1::ReplicaEntry>(const grpc::ByteBuffer&);

}  // namespace paceline
