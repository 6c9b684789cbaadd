#include "services/coordinator/run/checkpoint_order.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/services/coordinator/manual_clock.h"

namespace paceline {
namespace {

constexpr absl::Duration kNone = absl::ZeroDuration();

CheckpointOrder::Order OrderOf(const std::string& id, int64_t snapshot) {
  CheckpointOrder::Order order;
  order.id = id;
  order.directory = "/checkpoints/" + id;
  order.point.snapshot = snapshot;
  order.point.version = 10;
  return order;
}

v1::CheckpointWritten WrittenOf(int64_t snapshot, uint64_t bytes = 100) {
  v1::CheckpointWritten written;
  written.set_snapshot(snapshot);
  written.set_bytes(bytes);
  return written;
}

class CheckpointOrderTest : public ::testing::Test {
 protected:
  std::vector<ServerLink> Links() {
    std::vector<ServerLink> links;
    for (uint64_t i = 0; i < 2; ++i) {
      links.push_back({i, "s" + std::to_string(i), "",
                       [this, i](v1::ServerCommand command) {
                         sent_[i].push_back(std::move(command));
                       }});
    }
    return links;
  }

  std::vector<v1::ServerCommand> sent_[2];
  ManualClock clock_;
  ServerGroup servers_{/*run=*/1, Links(), &clock_};
  CheckpointOrder order_{&servers_};
  absl::Status failure_;
};

TEST_F(CheckpointOrderTest, HasEveryServerTakeAndWriteItsPart) {
  EXPECT_TRUE(order_.idle());
  EXPECT_TRUE(order_.AwaitWritten(kNone)) << "nothing is being written";
  EXPECT_TRUE(order_.Begin(OrderOf("a", 7)));
  EXPECT_FALSE(order_.idle());
  for (uint64_t i = 0; i < 2; ++i) {
    ASSERT_EQ(sent_[i].size(), 1u);
    const v1::WriteCheckpoint& write = sent_[i][0].write_checkpoint();
    EXPECT_EQ(write.snapshot(), 7);
    EXPECT_EQ(write.directory(), "/checkpoints/a");
    EXPECT_EQ(write.file(),
              "server-" + std::to_string(i) + "-of-2.safetensors");
    EXPECT_EQ(sent_[i][0].sequence(), 1u);
  }
}

TEST_F(CheckpointOrderTest, IsWrittenWhenAllHaveWritten) {
  EXPECT_TRUE(order_.Begin(OrderOf("a", 7)));
  EXPECT_FALSE(order_.Begin(OrderOf("b", 8)));
  EXPECT_EQ(sent_[0].size(), 1u) << "nothing is sent for a second one";
  order_.Written(1, WrittenOf(7, 200));
  EXPECT_FALSE(order_.AwaitWritten(kNone));
  EXPECT_FALSE(order_.TakeWritten(failure_).has_value());
  order_.Written(0, WrittenOf(7, 100));
  EXPECT_TRUE(order_.AwaitWritten(kNone));
  const auto taken = order_.TakeWritten(failure_);
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(failure_.ok());
  EXPECT_EQ(taken->id, "a");
  ASSERT_EQ(taken->files.size(), 2u);
  EXPECT_EQ(taken->files[0].bytes(), 100u);
  EXPECT_EQ(taken->files[1].bytes(), 200u);
  EXPECT_TRUE(order_.idle());
  EXPECT_FALSE(order_.TakeWritten(failure_).has_value());
  EXPECT_TRUE(order_.Begin(OrderOf("b", 8)));
}

TEST_F(CheckpointOrderTest, KnowsTheVersionOfTheLastThatTookIt) {
  EXPECT_TRUE(order_.Begin(OrderOf("a", 7)));
  order_.CommandDone(/*sequence=*/1, /*version=*/13);
  order_.CommandDone(1, 12);
  order_.CommandDone(2, 99);  // Another command.
  order_.Written(0, WrittenOf(7));
  order_.Written(1, WrittenOf(7));
  EXPECT_EQ(order_.TakeWritten(failure_)->version_at_completion, 13);
  order_.CommandDone(1, 14);  // Late.
}

// Else its folder would be removed while another server writes into it.
TEST_F(CheckpointOrderTest, AFailureWaitsForTheOthers) {
  EXPECT_TRUE(order_.Begin(OrderOf("a", 7)));
  v1::CheckpointWritten failed = WrittenOf(7, 0);
  failed.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
  failed.set_message("the disk is full");
  order_.Written(1, failed);
  EXPECT_FALSE(order_.AwaitWritten(kNone));
  order_.Written(0, WrittenOf(7));
  ASSERT_TRUE(order_.TakeWritten(failure_).has_value());
  EXPECT_EQ(failure_, absl::ResourceExhaustedError("s1: the disk is full"));
  // The next one begins without it.
  EXPECT_TRUE(order_.Begin(OrderOf("b", 8)));
  order_.Written(0, WrittenOf(8));
  order_.Written(1, WrittenOf(8));
  EXPECT_TRUE(order_.TakeWritten(failure_).has_value());
  EXPECT_TRUE(failure_.ok());
}

TEST_F(CheckpointOrderTest, TheFirstFailureIsTheReason) {
  EXPECT_TRUE(order_.Begin(OrderOf("a", 7)));
  for (int server = 1; server >= 0; --server) {
    v1::CheckpointWritten failed = WrittenOf(7, 0);
    failed.set_code(static_cast<int>(absl::StatusCode::kDataLoss));
    failed.set_message("of " + std::to_string(server));
    order_.Written(server, failed);
  }
  ASSERT_TRUE(order_.TakeWritten(failure_).has_value());
  EXPECT_EQ(failure_, absl::DataLossError("s1: of 1"));
}

TEST_F(CheckpointOrderTest, AnswersToAnotherOneAreNoneToThis) {
  order_.Written(0, WrittenOf(7));  // To none at all.
  EXPECT_TRUE(order_.Begin(OrderOf("a", 7)));
  order_.Written(0, WrittenOf(6));
  order_.Written(1, WrittenOf(7));
  EXPECT_FALSE(order_.TakeWritten(failure_).has_value());
}

TEST_F(CheckpointOrderTest, IsGivenUp) {
  EXPECT_FALSE(order_.GiveUp().has_value());
  EXPECT_FALSE(order_.BegunBefore(absl::InfiniteFuture()));
  CheckpointOrder::Order slow = OrderOf("a", 7);
  slow.begun = clock_.Now();
  EXPECT_TRUE(order_.Begin(slow));
  EXPECT_FALSE(order_.BegunBefore(clock_.Now()));
  EXPECT_TRUE(order_.BegunBefore(clock_.Now() + absl::Seconds(1)));
  order_.Written(0, WrittenOf(7));
  EXPECT_EQ(order_.StillWriting(), "s1");
  EXPECT_EQ(order_.GiveUp()->id, "a");
  EXPECT_TRUE(order_.idle());
  order_.Written(1, WrittenOf(7));  // Late.
  EXPECT_TRUE(order_.Begin(OrderOf("b", 8)));
  order_.Written(0, WrittenOf(8));
  EXPECT_FALSE(order_.TakeWritten(failure_).has_value());
}

TEST_F(CheckpointOrderTest, IsWaitedFor) {
  EXPECT_TRUE(order_.Begin(OrderOf("a", 7)));
  std::thread writing([this] {
    order_.Written(0, WrittenOf(7));
    order_.Written(1, WrittenOf(7));
  });
  EXPECT_TRUE(order_.AwaitWritten(absl::Minutes(1)));
  writing.join();
}

}  // namespace
}  // namespace paceline
