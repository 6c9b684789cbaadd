#include "services/parameter_server/shard_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

TEST(ShardConfigTest, AcceptsWhatIsSound) {
  EXPECT_TRUE(ValidateShardConfig(SmallConfig(3)).ok());
  EXPECT_TRUE(ValidateShardConfig(SmallConfig(0)).ok())
      << "a small model may leave a server without blocks";
  ShardConfig largest = SmallConfig(1, "adam");
  largest.blocks[0].size = kBlockElementsMax;
  EXPECT_TRUE(ValidateShardConfig(largest).ok());
}

TEST(ShardConfigTest, RefusesWhatAPeerMustNotName) {
  struct Case {
    std::function<void(ShardConfig&)> spoil;
    StatusCode code;
    const char* message;
  };
  const Case kCases[] = {
      {[](ShardConfig& c) { c.blocks[1].size = 0; },
       StatusCode::kInvalidArgument, "block 11 has 0 elements"},
      {[](ShardConfig& c) { c.blocks[1].size = kBlockElementsMax + 1; },
       StatusCode::kInvalidArgument, "a block has 1 to 262144"},
      {[](ShardConfig& c) { c.blocks[1].tensor.clear(); },
       StatusCode::kInvalidArgument, "names its tensor with 0 characters"},
      {[](ShardConfig& c) { c.blocks[1].tensor.assign(2000, 'x'); },
       StatusCode::kInvalidArgument, "with 2000 characters"},
      {[](ShardConfig& c) { c.blocks[1].offset = ~uint64_t{0}; },
       StatusCode::kInvalidArgument, "ends beyond"},
      {[](ShardConfig& c) { c.blocks[1].id = 10; },
       StatusCode::kInvalidArgument, "block 10 is given twice"},
      {[](ShardConfig& c) { c.blocks[2].offset = 9; },
       StatusCode::kInvalidArgument, "blocks 11 and 12 overlap in tensor w"},
      {[](ShardConfig& c) { c.batch_size = 0; }, StatusCode::kInvalidArgument,
       "the batch size is 0"},
      {[](ShardConfig& c) { c.optimizer.momentum = 2; },
       StatusCode::kInvalidArgument, "momentum is 2"},
      {[](ShardConfig& c) { c.limits.max_blocks = 2; },
       StatusCode::kResourceExhausted, "3 blocks; this server hosts 2"},
      {[](ShardConfig& c) { c.limits.max_state_bytes = 119; },
       StatusCode::kResourceExhausted, "take 120 bytes"},
  };
  for (const Case& c : kCases) {
    ShardConfig config = SmallConfig(3, "sgd:momentum=0.5");
    c.spoil(config);
    const absl::Status status = ValidateShardConfig(config);
    EXPECT_EQ(status.code(), c.code) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
    EXPECT_EQ(JobShard::Create(config).status(), status);
  }
}

}  // namespace
}  // namespace paceline
