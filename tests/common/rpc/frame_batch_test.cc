#include "common/rpc/frame_batch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rpc/write_queue.h"
#include "tests/common/rpc/frame_samples.h"

namespace paceline {
namespace {

constexpr size_t kUrgent = WriteQueue<int>::kUrgent;

v1::Frame PushOf(uint32_t block) {
  v1::Frame frame;
  frame.mutable_push_block()->set_block(block);
  return frame;
}

// What comes of a message: "block:payload" of each frame.
std::vector<std::string> Taken(const grpc::ByteBuffer& message) {
  std::vector<std::string> taken;
  const absl::Status status =
      TakeFrames(message, [&taken](const ReceivedFrame& frame) {
        EXPECT_TRUE(frame.header.more().empty());
        EXPECT_TRUE(frame.header.payload().empty());
        taken.push_back(absl::StrCat(frame.header.push_block().block(), ":",
                                     Flatten(frame.payload)));
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  return taken;
}

void Add(FrameBatch& batch, uint32_t block, const std::string& payload) {
  ASSERT_TRUE(batch.Takes(payload.size(), payload.size()));
  batch.Add(PushOf(block), grpc::Slice(payload), payload.size());
}

TEST(FrameBatchTest, KeepsTheOrderAndThePayloads) {
  FrameBatch batch;
  EXPECT_TRUE(batch.empty());
  Add(batch, 3, std::string(1000, 'a'));
  Add(batch, 1, "");
  Add(batch, 2, "b");
  EXPECT_EQ(batch.carries(), 1001u);
  EXPECT_EQ(
      Taken(batch.Take()),
      (std::vector<std::string>{"3:" + std::string(1000, 'a'), "1:", "2:b"}));
  EXPECT_TRUE(batch.empty());
  Add(batch, 4, "c");
  EXPECT_EQ(batch.carries(), 1u);
  EXPECT_EQ(Taken(batch.Take()), std::vector<std::string>{"4:c"});
}

TEST(FrameBatchTest, TheFirstMayBeLargeAndTinyOnesFollow) {
  FrameBatch batch;
  const std::string block(size_t{4} << 20, 'x');
  Add(batch, 1, block);
  EXPECT_FALSE(batch.Takes(0, FrameBatch::kTiny + 1));
  Add(batch, 2, std::string(FrameBatch::kTiny, 'y'));
  EXPECT_EQ(Taken(batch.Take()).size(), 2u);
}

// Nobody copies a block twice to save a message.
TEST(FrameBatchTest, WhatIsNotSmallBeginsAMessage) {
  FrameBatch batch;
  EXPECT_TRUE(batch.Takes(size_t{4} << 20, size_t{4} << 20));
  Add(batch, 1, "a");
  EXPECT_TRUE(batch.Takes(size_t{16} << 10, size_t{16} << 10));
  EXPECT_FALSE(batch.Takes((size_t{16} << 10) + 1, (size_t{16} << 10) + 1));
  // In shared memory it is small here.
  EXPECT_TRUE(batch.Takes(0, size_t{4} << 20));
}

TEST(FrameBatchTest, OneThatIsUrgentMakesAllUrgent) {
  FrameBatch batch;
  batch.Add(PushOf(1), grpc::Slice(), 100);
  batch.Add(PushOf(2), grpc::Slice(), kUrgent);
  batch.Add(PushOf(3), grpc::Slice(), 100);
  EXPECT_EQ(batch.carries(), kUrgent);
}

TEST(FrameBatchTest, HasAnEnd) {
  FrameBatch batch;
  uint32_t frames = 0;
  while (batch.Takes(0, 0)) batch.Add(PushOf(frames++), grpc::Slice(), 0);
  EXPECT_EQ(frames, 256u);
  EXPECT_EQ(Taken(batch.Take()).size(), frames);
}

TEST(TakeFramesTest, EndsWithTheFirstError) {
  FrameBatch batch;
  for (const uint32_t block : {1, 2, 3}) Add(batch, block, "x");
  uint32_t taken = 0;
  const absl::Status status =
      TakeFrames(batch.Take(), [&taken](const ReceivedFrame&) {
        return ++taken == 2 ? absl::AbortedError("fenced") : absl::OkStatus();
      });
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_EQ(taken, 2u);
}

TEST(TakeFramesTest, AFollowerHasNoFollowers) {
  v1::Frame frame = PushOf(1);
  *frame.add_more()->add_more() = PushOf(2);
  uint32_t taken = 0;
  const absl::Status status = TakeFrames(BufferOf(frame.SerializeAsString()),
                                         [&taken](const ReceivedFrame&) {
                                           ++taken;
                                           return absl::OkStatus();
                                         });
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(taken, 0u);
}

// Two bytes a frame on the wire are many more in memory.
TEST(TakeFramesTest, MoreThanABatchHasAreNotTaken) {
  for (const size_t followers : {255, 256, 1'000'000}) {
    std::string bytes;
    for (size_t i = 0; i < followers; ++i) bytes += std::string("\x6a\0", 2);
    size_t taken = 0;
    const absl::Status status =
        TakeFrames(BufferOf(bytes), [&taken](const ReceivedFrame&) {
          ++taken;
          return absl::OkStatus();
        });
    EXPECT_EQ(status.ok(), followers < 256) << status;
    EXPECT_EQ(taken, status.ok() ? followers + 1 : 0);
  }
}

TEST(FrameBatchTest, StaysWithinWhatTheTransportTakes) {
  FrameBatch batch;
  Add(batch, 1, std::string(size_t{1} << 20, 'x'));
  const std::string small(FrameBatch::kTiny, 'y');
  while (batch.Takes(small.size(), small.size())) Add(batch, 2, small);
  EXPECT_LT(batch.Take().Length(), (size_t{1} << 20) + (size_t{128} << 10));
}

// A payload that is kept outlives the message, as the shard needs it.
TEST(TakeFramesTest, AFollowersPayloadBelongsToIt) {
  std::vector<ReceivedFrame> kept;
  {
    FrameBatch batch;
    for (const uint32_t block : {1, 2, 3}) Add(batch, block, "small");
    const absl::Status status =
        TakeFrames(batch.Take(), [&kept](ReceivedFrame& frame) {
          kept.push_back(std::move(frame));
          return absl::OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_EQ(kept.size(), 3u);
  for (const ReceivedFrame& frame : kept) {
    EXPECT_EQ(Flatten(frame.payload), "small");
  }
}

}  // namespace
}  // namespace paceline
