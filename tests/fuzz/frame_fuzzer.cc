// The one bulk message, in slices cut anywhere, against Protobuf's own class.

#include "common/rpc/frame_codec.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

grpc::ByteBuffer BufferOf(absl::string_view bytes, uint8_t cut) {
  const size_t size = cut == 0 ? bytes.size() + 1 : cut;
  std::vector<grpc::Slice> slices;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    const absl::string_view part = bytes.substr(0, size);
    slices.emplace_back(part.data(), part.size());
  }
  return {slices.data(), slices.size()};
}

std::string Flatten(const Payload& payload) {
  std::string bytes;
  payload.VisitRuns(DType::kF32, [&bytes](size_t, const char* run, size_t n) {
    bytes.append(run, n * 4);
    return true;
  });
  return bytes;
}

std::string Seed(uint8_t cut, const char* text) {
  return std::string(1, static_cast<char>(cut)) + MessageSeed<v1::Frame>(text);
}

void ExpectSame(const ReceivedFrame& frame, const v1::Frame& wanted) {
  v1::Frame header = wanted;
  header.clear_payload();
  CHECK(BytesOf(frame.header) == BytesOf(header));
  CHECK(frame.payload.size() == wanted.payload().size());
  if (frame.payload.size() % 4 == 0) {
    CHECK(Flatten(frame.payload) == wanted.payload());
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {
      Seed(0, "hello { incarnation: 7 run: 9 }"),
      Seed(3, "set_block { block: 2 } payload: 'abcdefgh'"),
      Seed(1,
           "push_block { iteration: 1 block: 2 samples: 32 weight: 0.5 "
           "round: 4 format: BF16 compensation: 0.1 "
           "compensation_memory: 0.95 } payload: 'abcd'"),
      Seed(5,
           "push_block { immediate_rate: 0.1 format: FP32 } payload: '1234'"),
      Seed(0, "pull { request: 1 closing: 3 format: FP16 keep: true }"),
      Seed(0, "pull { snapshot: 3 }"),
      Seed(0, "push_ack { iteration: 3 refused: [1, 2] }"),
      Seed(0, "pulled_block { request: 1 block: 2 format: FP32 } payload: 'x'"),
      Seed(0, "pull_end { request: 1 code: 14 message: 'ask' parked_us: 7 }"),
      // The payload first and twice, and a group that nobody knows.
      std::string("\x02\x7a\x04"
                  "abcd"
                  "\x12\x00\x7a\x04"
                  "efgh"
                  "\x9b\x06\x9c\x06",
                  19),
      // A payload that is not there.
      std::string("\0\x7a\xff\xff\xff\xff\x0f"
                  "a",
                  8)};
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  const uint8_t cut = fuzz.Byte();
  const absl::string_view bytes = fuzz.Rest();
  const auto frame = DecodeFrame(BufferOf(bytes, cut));
  ExpectInvalidArgument(frame.status());
  const auto wanted = ParseMessage<v1::Frame>(bytes);
  CHECK(frame.ok() == wanted.has_value());
  if (!frame.ok()) return;
  ExpectSame(*frame, *wanted);
  if (frame->payload.size() % 4 != 0) return;
  const std::string payload = Flatten(frame->payload);
  const auto again =
      DecodeFrame(EncodeFrame(frame->header, grpc::Slice(payload)));
  CHECK(again.ok());
  ExpectSame(*again, *wanted);
}

}  // namespace paceline
