#include "services/parameter_server/host_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/services/parameter_server/command_runner_testing.h"

namespace paceline {
namespace {

using testing::HasSubstr;

TEST(HostJobTest, BlocksHaveTheirTensorsNames) {
  v1::ServerCommand command = HostCommand(1, "sgd:momentum=0.5");
  command.mutable_host()->mutable_blocks(1)->set_statistic(true);
  const auto config = ToShardConfig(command.host());
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->blocks.size(), 2u);
  EXPECT_EQ(
      config->blocks[1],
      (BlockConfig{
          .id = 11, .tensor = "w", .offset = 5, .size = 5, .statistic = true}));
  EXPECT_EQ(config->optimizer.momentum, 0.5);
  EXPECT_EQ(config->batch_size, 4u);
  EXPECT_TRUE(ValidateShardConfig(*config).ok());
}

TEST(HostJobTest, RefusesWhatNoCoordinatorSends) {
  struct Case {
    std::function<void(v1::HostJob&)> spoil;
    const char* message;
  };
  const std::vector<Case> kCases = {
      {[](v1::HostJob& h) { h.mutable_blocks(0)->set_tensor(1); },
       "block 10 is of tensor 1; the job has 1"},
      {[](v1::HostJob& h) { h.mutable_blocks(0)->set_offset(-1); },
       "must lie within its tensor, \"w\""},
      {[](v1::HostJob& h) { h.mutable_blocks(1)->set_size(6); },
       "block 11 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.mutable_blocks(1)->set_size(0); },
       "block 11 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.mutable_blocks(1)->set_size(int64_t{1} << 62); },
       "block 11 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.mutable_tensors(0)->set_size(-5); },
       "block 10 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.clear_tensors(); }, "the job has 0"},
      {[](v1::HostJob& h) { h.mutable_job()->set_optimizer("lion"); },
       "unknown optimizer"},
      {[](v1::HostJob& h) { h.mutable_job()->set_round_strength("x"); },
       "unknown strength of a round"},
  };
  for (const Case& c : kCases) {
    v1::ServerCommand command = HostCommand(1);
    c.spoil(*command.mutable_host());
    const absl::Status status = ToShardConfig(command.host()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace paceline
