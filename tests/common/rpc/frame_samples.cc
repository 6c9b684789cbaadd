#include "tests/common/rpc/frame_samples.h"

#include <algorithm>
#include <limits>

namespace paceline {
namespace {

v1::Frame PushHeader() {
  v1::Frame frame;
  v1::PushBlock& push = *frame.mutable_push_block();
  push.set_iteration(std::numeric_limits<int64_t>::max());
  push.set_block(70'000);
  push.set_samples(32);
  push.set_weight(0.25f);
  push.set_round(std::numeric_limits<uint64_t>::max());
  push.set_format(v1::BF16);
  return frame;
}

}  // namespace

std::vector<v1::Frame> SampleHeaders() {
  std::vector<v1::Frame> headers(10);
  headers[0].mutable_hello()->set_incarnation(0x0123456789abcdef);
  headers[1].mutable_set_block()->set_block(300);
  headers[2] = PushHeader();
  headers[3].mutable_push_block()->set_immediate_rate(0.0);
  headers[4].mutable_pull()->set_request(1);
  headers[4].mutable_pull()->set_closing(0);
  headers[5].mutable_set_done();
  headers[6].mutable_push_ack()->set_iteration(9);
  for (uint32_t block = 0; block < 200; block += 3) {
    headers[6].mutable_push_ack()->add_refused(block);
  }
  headers[7].mutable_pulled_block()->set_block(128);
  headers[8].mutable_pull_end()->set_code(14);
  headers[8].mutable_pull_end()->set_message(std::string(300, 'm'));
  return headers;  // The last one has no kind.
}

std::string RandomBytes(size_t size, Rng& rng) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.Below(256));
  return bytes;
}

std::vector<grpc::Slice> CutAtRandom(absl::string_view bytes, size_t longest,
                                     Rng& rng) {
  std::vector<grpc::Slice> slices;
  while (!bytes.empty()) {
    const size_t size = std::min<size_t>(bytes.size(), rng.Below(longest + 1));
    slices.emplace_back(bytes.data(), size);
    bytes.remove_prefix(size);
  }
  return slices;
}

grpc::ByteBuffer BufferOf(const std::vector<grpc::Slice>& slices) {
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer BufferOf(absl::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

std::string Flatten(const Payload& payload) {
  // The narrowest element has two bytes: one more makes odd sizes readable.
  Payload even = payload;
  const bool odd = payload.size() % 2 == 1;
  if (odd) even.Append("?");
  std::string bytes;
  even.VisitRuns(DType::kBF16, [&](size_t, const char* run, size_t count) {
    bytes.append(run, EncodedSize(DType::kBF16, count));
    return true;
  });
  if (odd) bytes.pop_back();
  return bytes;
}

}  // namespace paceline
