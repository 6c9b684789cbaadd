// The proof that v1::Frame on the wire is ordinary Protobuf: what EncodeFrame
// writes the generated class reads, and the other way round.

#include "common/rpc/frame_codec.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/frame_samples.h"

namespace paceline {
namespace {

constexpr size_t kMiB = 1 << 20;
// Around the places where the varint of the size grows.
constexpr size_t kSizes[] = {0,   1,   2,     3,     4,     7,   127,
                             128, 129, 16383, 16384, 16385, kMiB};

// Field 15, as a serializer writes it.
std::string PayloadField(const std::string& bytes) {
  v1::Frame frame;
  frame.set_payload(bytes);
  return frame.SerializeAsString();
}

// What DecodeFrame makes of `bytes` is what the generated class makes of them.
void ExpectDecodedAsParsed(const grpc::ByteBuffer& buffer) {
  v1::Frame parsed;
  ASSERT_TRUE(parsed.ParseFromString(Flatten(buffer)));
  const auto decoded = DecodeFrame(buffer);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(Flatten(decoded->payload) == parsed.payload());
  EXPECT_EQ(decoded->payload.size(), parsed.payload().size());
  parsed.clear_payload();
  EXPECT_EQ(decoded->header.SerializeAsString(), parsed.SerializeAsString());
  EXPECT_EQ(decoded->header.DebugString(), parsed.DebugString());
}

TEST(EncodeFrameTest, WritesTheBytesOfTheGeneratedClass) {
  Rng rng(1);
  for (const v1::Frame& header : SampleHeaders()) {
    for (const size_t size : kSizes) {
      const std::string payload = RandomBytes(size, rng);
      const std::string encoded = Flatten(
          EncodeFrame(header, BorrowSlice(payload, std::make_shared<int>(0))));
      v1::Frame parsed;
      ASSERT_TRUE(parsed.ParseFromString(encoded));
      EXPECT_TRUE(parsed.payload() == payload) << size;
      EXPECT_TRUE(parsed.SerializeAsString() == encoded)
          << header.ShortDebugString() << " with " << size;
      parsed.clear_payload();
      EXPECT_EQ(parsed.DebugString(), header.DebugString());
    }
  }
}

TEST(EncodeFrameTest, WithoutAPayloadToo) {
  for (const v1::Frame& header : SampleHeaders()) {
    EXPECT_EQ(Flatten(EncodeFrame(header)), header.SerializeAsString());
  }
}

// The wire itself, pinned: both ends of a rolling update must agree on it, and
// so must programs in other languages.
TEST(EncodeFrameTest, StaysAsItIs) {
  v1::Frame header;
  header.mutable_push_block()->set_iteration(300);
  header.mutable_push_block()->set_block(2);
  header.mutable_push_block()->set_samples(32);
  header.mutable_push_block()->set_weight(1);
  header.mutable_push_block()->set_round(5);
  header.mutable_push_block()->set_format(v1::FP32);
  const std::string payload("\0\0\x80\x3f", 4);  // 1.0
  const std::string bytes = Flatten(EncodeFrame(header, grpc::Slice(payload)));
  EXPECT_EQ(absl::BytesToHexString(bytes),
            "1a17"                // push_block, 23 bytes
            "08ac02"              // iteration 300
            "1002"                // block 2
            "1820"                // samples 32
            "250000803f"          // weight 1
            "310500000000000000"  // round 5
            "3801"                // FP32
            "7a040000803f");      // payload, 4 bytes
}

TEST(EncodeFrameTest, SendsThePayloadFromWhereItLies) {
  const auto floats = std::make_shared<std::vector<float>>(1000, 1.5f);
  const auto* bytes = reinterpret_cast<const char*>(floats->data());
  v1::Frame header;
  header.mutable_set_block()->set_block(1);
  const grpc::ByteBuffer buffer =
      EncodeFrame(header, BorrowSlice({bytes, 4000}, floats));
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(buffer.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(reinterpret_cast<const char*>(slices[1].begin()), bytes);
  EXPECT_EQ(slices[1].size(), 4000u);
}

TEST(EncodeFrameDeathTest, AHeaderWithAPayloadIsABug) {
  v1::Frame header;
  header.set_payload("x");
  EXPECT_DEATH(EncodeFrame(header), "CHECK");
}

TEST(BorrowSliceTest, KeepsTheOwnerUntilTheLastBufferDies) {
  auto owner = std::make_shared<std::string>("0123456789");
  const std::weak_ptr<std::string> alive = owner;
  v1::Frame header;
  auto first = std::make_unique<grpc::ByteBuffer>(
      EncodeFrame(header, BorrowSlice(*owner, owner)));
  auto second = std::make_unique<grpc::ByteBuffer>(*first);
  owner.reset();
  EXPECT_FALSE(alive.expired());
  first.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(Flatten(*second), PayloadField("0123456789"));
  second.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(DecodeFrameTest, ReadsWhatTheGeneratedClassWrites) {
  Rng rng(2);
  for (v1::Frame frame : SampleHeaders()) {
    for (const size_t size : kSizes) {
      frame.set_payload(RandomBytes(size, rng));
      ExpectDecodedAsParsed(BufferOf(frame.SerializeAsString()));
    }
  }
}

TEST(DecodeFrameTest, ReadsSlicesCutAnywhere) {
  Rng rng(3);
  for (v1::Frame frame : SampleHeaders()) {
    for (const size_t size : {0u, 1u, 127u, 128u, 1001u}) {
      frame.set_payload(RandomBytes(size, rng));
      const std::string bytes = frame.SerializeAsString();
      for (const size_t longest : {1, 2, 3, 10, 100, 1000}) {
        ExpectDecodedAsParsed(BufferOf(CutAtRandom(bytes, longest, rng)));
      }
    }
  }
}

TEST(DecodeFrameTest, ReadsASliceCutAtEveryPlace) {
  Rng rng(4);
  for (v1::Frame frame : SampleHeaders()) {
    frame.set_payload(RandomBytes(200, rng));
    const std::string bytes = frame.SerializeAsString();
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      ExpectDecodedAsParsed(BufferOf(
          {grpc::Slice(bytes.substr(0, cut)), grpc::Slice(bytes.substr(cut))}));
    }
  }
}

TEST(DecodeFrameTest, ReadsAMebibyteInManySlices) {
  Rng rng(5);
  v1::Frame frame = SampleHeaders()[2];
  frame.set_payload(RandomBytes(kMiB, rng));
  const std::string bytes = frame.SerializeAsString();
  for (const size_t longest : {100u, 8192u, 65536u}) {
    ExpectDecodedAsParsed(BufferOf(CutAtRandom(bytes, longest, rng)));
  }
}

// The order of the fields is the serializer's choice; of a field that comes
// twice the last one wins, and messages are merged.
TEST(DecodeFrameTest, FindsThePayloadAtAnyPlace) {
  Rng rng(6);
  const std::vector<v1::Frame> headers = SampleHeaders();
  const std::string push = headers[2].SerializeAsString();
  const std::string also = headers[3].SerializeAsString();
  const std::string first = PayloadField(RandomBytes(500, rng));
  const std::string second = PayloadField(RandomBytes(77, rng));
  const std::string none("\x7a\x00", 2);
  const std::vector<std::string> orders = {first + push,
                                           push + first + also,
                                           first + push + second,
                                           first + second + push,
                                           push + first + none,
                                           none + push + second,
                                           first,
                                           none,
                                           push + also + first};
  for (const std::string& bytes : orders) {
    ExpectDecodedAsParsed(BufferOf(bytes));
    ExpectDecodedAsParsed(BufferOf(CutAtRandom(bytes, 50, rng)));
  }
}

// More slices and fields than could be gone over field by field.
TEST(DecodeFrameTest, ReadsManyEmptyPayloadsInTinySlices) {
  Rng rng(10);
  const std::vector<v1::Frame> headers = SampleHeaders();
  const std::string none("\x7a\x00", 2);
  std::string bytes;
  for (int i = 0; i < 60'000; ++i) {
    bytes += none;
    if (i % 10'000 == 500) bytes += headers[2].SerializeAsString();
    if (i % 1'000 == 7) bytes += std::string("\xfa\x7f\x03xyz", 6);
  }
  bytes += PayloadField(RandomBytes(301, rng));
  // Borrowed, because gRPC joins slices that hold their few bytes themselves.
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slices.back().size()) {
    slices.push_back(BorrowSlice(
        absl::string_view(bytes).substr(at, rng.Below(3)), nullptr));
  }
  const grpc::ByteBuffer buffer = BufferOf(slices);
  ExpectDecodedAsParsed(buffer);
}

// A newer peer may say more. Field 15 of another wire type is unknown as well.
TEST(DecodeFrameTest, PassesOverUnknownFields) {
  Rng rng(7);
  const std::string varint("\xf8\x7f\x96\x01", 4);
  const std::string fixed64("\xf9\x7f\x01\x02\x03\x04\x05\x06\x07\x08", 10);
  const std::string text("\xfa\x7f\x03xyz", 6);
  const std::string group("\xfb\x7f\x08\x01\xfc\x7f", 6);
  const std::string fixed32("\xfd\x7f\x01\x02\x03\x04", 6);
  const std::string fifteen("\x78\x05", 2);  // A varint.
  const std::string push = SampleHeaders()[2].SerializeAsString();
  const std::string payload = PayloadField(RandomBytes(300, rng));
  for (const std::string& unknown :
       {varint, fixed64, text, group, fixed32, fifteen}) {
    for (const std::string& bytes : {absl::StrCat(unknown, push, payload),
                                     absl::StrCat(push, unknown, payload),
                                     absl::StrCat(push, payload, unknown)}) {
      ExpectDecodedAsParsed(BufferOf(bytes));
      ExpectDecodedAsParsed(BufferOf(CutAtRandom(bytes, 20, rng)));
    }
  }
}

TEST(DecodeFrameTest, AnEmptyMessageIsAFrameWithoutAKind) {
  const auto decoded = DecodeFrame(BufferOf(""));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->header.kind_case(), v1::Frame::KIND_NOT_SET);
  EXPECT_EQ(decoded->payload.size(), 0u);
}

// Numbers in more bytes or bits than they may have: two readers that take them
// for different things would disagree on what a frame says.
TEST(DecodeFrameTest, RefusesWhatTheGeneratedClassRefuses) {
  const std::string kCases[] = {
      // A field's number in six bytes: of 32 bits the rest is lost.
      std::string("\x99\x99\x99\x99\x99\x1a\x0b)\x9a\x99\x99\x99\x99\x99", 14),
      // The payload's number, and its length, in six bytes.
      std::string("\xfa\x80\x80\x80\x80\x00\x01x", 8),
      std::string("\x7a\x81\x80\x80\x80\x80\x00x", 8),
      // A length of 2^32 + 1, and one of another field.
      std::string("\x7a\x81\x80\x80\x80\x10x", 7),
      std::string("\x82\x01\x81\x80\x80\x80\x10x", 8)};
  for (const std::string& bytes : kCases) {
    EXPECT_FALSE(v1::Frame().ParseFromString(bytes));
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeFrame(BufferOf(bytes)).status()))
        << absl::CHexEscape(bytes);
  }
}

TEST(DecodeFrameTest, AnInvalidBufferIsAnError) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(DecodeFrame(grpc::ByteBuffer()).status()));
}

// Every run of whole elements lies in the memory that was received; only an
// element cut by a slice's end is copied out.
TEST(DecodeFrameTest, ThePayloadPointsIntoTheReceivedSlices) {
  Rng rng(8);
  v1::Frame frame = SampleHeaders()[2];
  frame.set_payload(RandomBytes(4 * 5000, rng));
  const auto slices = CutAtRandom(frame.SerializeAsString(), 3000, rng);
  const auto received = [&](const char* at, size_t size) {
    return std::any_of(
        slices.begin(), slices.end(), [&](const grpc::Slice& slice) {
          const auto* begin = reinterpret_cast<const char*>(slice.begin());
          return at >= begin && at + size <= begin + slice.size();
        });
  };
  const auto decoded = DecodeFrame(BufferOf(slices));
  ASSERT_TRUE(decoded.ok());
  size_t copied = 0;
  size_t elements = 0;
  decoded->payload.VisitRuns(DType::kF32,
                             [&](size_t, const char* run, size_t count) {
                               elements += count;
                               if (!received(run, 4 * count)) copied += count;
                               return true;
                             });
  EXPECT_EQ(elements, 5000u);
  EXPECT_LT(copied, slices.size());
}

TEST(DecodeFrameTest, TheFrameKeepsTheMemoryWhenItMoves) {
  std::vector<ReceivedFrame> frames;
  Rng rng(9);
  std::vector<std::string> payloads;
  for (int i = 0; i < 20; ++i) {
    // gRPC keeps slices of up to 23 bytes inside the slice object itself.
    payloads.push_back(RandomBytes(i, rng));
    v1::Frame frame;
    frame.set_payload(payloads.back());
    auto decoded =
        DecodeFrame(BufferOf(CutAtRandom(frame.SerializeAsString(), 6, rng)));
    ASSERT_TRUE(decoded.ok());
    frames.push_back(*std::move(decoded));  // Moves them all now and then.
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(Flatten(frames[i].payload), payloads[i]);
  }
}

// Bytes that no correct peer sends. DecodeFrame must agree with the generated
// class on which of them are a frame, and read the same out of those.

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
