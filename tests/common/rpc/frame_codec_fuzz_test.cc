// Bytes that no correct peer sends. DecodeFrame must agree with the generated
// class on which of them are a frame, and read the same out of those.

#include <google/protobuf/stubs/logging.h>

#include <array>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/rpc/frame_codec.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/frame_samples.h"

namespace paceline {
namespace {

enum class Verdict { kFrame, kRefused, kLenient };

// kLenient: refused by the generated class alone. Its parser takes tags of at
// most five bytes, that of Protobuf's streams also longer ones.
Verdict ExpectAgreement(const std::string& bytes,
                        const std::vector<grpc::Slice>& slices) {
  // It tells stderr of every text that is no UTF-8.
  const google::protobuf::LogSilencer silencer;
  v1::Frame parsed;
  const bool is_frame = parsed.ParseFromString(bytes);
  const auto decoded = DecodeFrame(BufferOf(slices));
  if (!decoded.ok()) {
    EXPECT_FALSE(is_frame) << absl::BytesToHexString(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(decoded.status()));
    return Verdict::kRefused;
  }
  EXPECT_LE(decoded->payload.size(), bytes.size());
  EXPECT_EQ(Flatten(decoded->payload).size(), decoded->payload.size());
  if (!is_frame) return Verdict::kLenient;
  EXPECT_EQ(Flatten(decoded->payload), parsed.payload());
  parsed.clear_payload();
  EXPECT_EQ(decoded->header.SerializeAsString(), parsed.SerializeAsString());
  return Verdict::kFrame;
}

// Of many tries.
struct Verdicts {
  void Add(Verdict verdict) { ++counts[static_cast<size_t>(verdict)]; }
  int of(Verdict verdict) const { return counts[static_cast<size_t>(verdict)]; }
  std::array<int, 3> counts{};
};

TEST(FrameCodecFuzzTest, TruncatedFrames) {
  Rng rng(1);
  Verdicts verdicts;
  for (v1::Frame frame : SampleHeaders()) {
    frame.set_payload(RandomBytes(150, rng));
    const std::string bytes = frame.SerializeAsString();
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string cut = bytes.substr(0, size);
      verdicts.Add(ExpectAgreement(cut, CutAtRandom(cut, 40, rng)));
    }
  }
  // Cut in front of the first field or of the payload, nowhere else.
  EXPECT_LE(verdicts.of(Verdict::kFrame), 2 * 10);
  EXPECT_GT(verdicts.of(Verdict::kRefused), 1'500);
  EXPECT_EQ(verdicts.of(Verdict::kLenient), 0);
}

TEST(FrameCodecFuzzTest, RandomBytes) {
  Verdicts verdicts;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    Rng rng(seed);
    const std::string bytes = RandomBytes(rng.Below(64), rng);
    verdicts.Add(ExpectAgreement(bytes, CutAtRandom(bytes, 16, rng)));
  }
  EXPECT_GT(verdicts.of(Verdict::kRefused), 15'000);
  EXPECT_LT(verdicts.of(Verdict::kLenient), 20);
}

TEST(FrameCodecFuzzTest, FramesWithAFewBytesChanged) {
  const std::vector<v1::Frame> headers = SampleHeaders();
  Verdicts verdicts;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    Rng rng(seed);
    v1::Frame frame = headers[rng.Below(headers.size())];
    frame.set_payload(RandomBytes(rng.Below(40), rng));
    std::string bytes = frame.SerializeAsString();
    for (uint64_t i = 1 + rng.Below(3); i > 0; --i) {
      if (bytes.empty()) continue;
      bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Below(256));
    }
    verdicts.Add(ExpectAgreement(bytes, CutAtRandom(bytes, 30, rng)));
  }
  // Both sides of the decision are exercised.
  EXPECT_GT(verdicts.of(Verdict::kFrame), 2'000);
  EXPECT_GT(verdicts.of(Verdict::kRefused), 2'000);
  EXPECT_LT(verdicts.of(Verdict::kLenient), 20);
}

// A size that the message cannot have must not be believed: neither allocated
// nor skipped past the end.
TEST(FrameCodecFuzzTest, SizesBeyondTheMessage) {
  for (const std::string size :
       {"\x05", "\xff\x01", "\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\x0f",
        "\x80\x80\x80\x80\x08", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
    const std::string bytes = "\x7a" + size + "abc";
    EXPECT_EQ(ExpectAgreement(bytes, {grpc::Slice(bytes)}), Verdict::kRefused);
    const std::string unknown = "\x72" + size + "abc";
    EXPECT_EQ(ExpectAgreement(unknown, {grpc::Slice(unknown)}),
              Verdict::kRefused);
  }
}

// A header that nests without end is refused, not followed.
TEST(FrameCodecFuzzTest, GroupsNestedDeeply) {
  const std::string bytes(100'000, '\x73');  // Group 14 begins.
  EXPECT_EQ(ExpectAgreement(bytes, {grpc::Slice(bytes)}), Verdict::kRefused);
}

}  // namespace
}  // namespace paceline
