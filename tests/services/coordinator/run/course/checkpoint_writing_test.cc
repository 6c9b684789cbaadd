#include "services/coordinator/run/course/checkpoint_writing.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

CheckpointWriting::Order OrderOf(const std::string& id, int64_t snapshot) {
  CheckpointWriting::Order order;
  order.id = id;
  order.point.snapshot = snapshot;
  order.point.version = 10;
  return order;
}

// Two servers, s0 and s1, write a checkpoint of snapshot 7 after command 1.
class CheckpointWritingTest : public ::testing::Test {
 protected:
  CheckpointWritingTest() { writing_.Begin(OrderOf("a", 7), 2, 1); }

  void Write(int server, int64_t snapshot, uint64_t bytes = 100,
             const absl::Status& status = absl::OkStatus()) {
    writing_.Written(server, "s" + std::to_string(server), snapshot, status,
                     {"file", bytes, "hash"});
  }

  CheckpointWriting writing_;
};

TEST_F(CheckpointWritingTest, IsWrittenWhenAllHaveWritten) {
  EXPECT_FALSE(writing_.idle());
  Write(1, 7, 200);
  EXPECT_FALSE(writing_.AllWritten());
  EXPECT_THAT(writing_.StillWriting(), ElementsAre(0));
  Write(0, 7, 100);
  EXPECT_TRUE(writing_.AllWritten());
  EXPECT_TRUE(writing_.failure().ok());
  writing_.BeginManifest();
  const CheckpointWriting::Order order = writing_.End(absl::OkStatus());
  EXPECT_EQ(order.id, "a");
  ASSERT_EQ(order.files.size(), 2u);
  EXPECT_EQ(order.files[0].bytes, 100u);
  EXPECT_EQ(order.files[1].bytes, 200u);
  EXPECT_TRUE(writing_.idle());
  EXPECT_FALSE(writing_.AllWritten());
  EXPECT_EQ(writing_.last_written()->id, "a");
  writing_.Begin(OrderOf("b", 8), 2, 5);
  EXPECT_FALSE(writing_.writes_manifest());
}

TEST_F(CheckpointWritingTest, KnowsTheVersionOfTheLastThatTookIt) {
  writing_.CommandDone(/*sequence=*/1, /*version=*/13);
  writing_.CommandDone(1, 12);
  writing_.CommandDone(2, 99);  // Another command.
  EXPECT_EQ(writing_.order().version_at_completion, 13);
  writing_.End(absl::OkStatus());
  writing_.CommandDone(1, 14);  // Late.
}

// Else its folder would be removed while another server writes into it.
TEST_F(CheckpointWritingTest, AFailureWaitsForTheOthers) {
  Write(1, 7, 0, absl::ResourceExhaustedError("the disk is full"));
  EXPECT_FALSE(writing_.AllWritten());
  Write(0, 7, 0, absl::DataLossError("a later reason"));
  EXPECT_TRUE(writing_.AllWritten());
  EXPECT_EQ(writing_.failure(),
            absl::ResourceExhaustedError("s1: the disk is full"));
  writing_.End(writing_.failure());
  EXPECT_FALSE(writing_.last_written().has_value());
  // The next one begins without it.
  writing_.Begin(OrderOf("b", 8), 2, 5);
  EXPECT_TRUE(writing_.failure().ok());
}

TEST_F(CheckpointWritingTest, AnswersToAnotherOneAreNoneToThis) {
  Write(0, 6);
  Write(1, 7);
  EXPECT_FALSE(writing_.AllWritten());
  writing_.End(absl::DeadlineExceededError("given up"));
  Write(0, 7);  // To none at all.
  writing_.Begin(OrderOf("b", 8), 2, 5);
  Write(0, 8);
  EXPECT_FALSE(writing_.AllWritten());
}

}  // namespace
}  // namespace paceline
