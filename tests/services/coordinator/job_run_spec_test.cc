#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/job_run_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct BadSpec {
  std::string name;
  std::function<void(v1::JobSpec&)> spoil;
  std::string says;
};

std::vector<BadSpec> BadSpecs() {
  return {
      {"NoWorkers", [](auto& s) { s.set_workers(0); }, "at least one worker"},
      {"NoServers", [](auto& s) { s.set_servers(0); }, "one server"},
      {"NoBatch", [](auto& s) { s.set_batch_size(0); }, "batch size"},
      {"NoEpochs", [](auto& s) { s.set_epochs(0); }, "epochs"},
      {"ShortLease", [](auto& s) { s.set_lease_ms(99); }, "lease"},
      {"NoRate", [](auto& s) { s.set_learning_rate(0); }, "learning rate"},
      {"RateNaN", [](auto& s) { s.set_learning_rate(kNaN); }, "learning rate"},
      {"HugeRate", [](auto& s) { s.set_learning_rate(2e6); }, "learning rate"},
      {"NegativeSeconds", [](auto& s) { s.set_max_seconds(-1); },
       "max_seconds"},
      {"SecondsNaN", [](auto& s) { s.set_max_seconds(kNaN); }, "max_seconds"},
      {"TargetAboveOne", [](auto& s) { s.set_target_accuracy(1.01); },
       "target_accuracy"},
      {"TargetNaN", [](auto& s) { s.set_target_accuracy(kNaN); },
       "target_accuracy"},
      {"NegativeEvalEvery", [](auto& s) { s.set_eval_every(-1); },
       "eval_every"},
      {"UnknownParadigm", [](auto& s) { s.set_paradigm("bps"); }, "bps"},
      {"LowerAboveUpper",
       [](auto& s) { s.set_paradigm("dssp:lower=5,upper=3"); }, "lower"},
      {"UnknownSchedule", [](auto& s) { s.set_schedule("cosine"); }, "cosine"},
  };
}

class JobSpecTest : public ::testing::TestWithParam<BadSpec> {};

TEST_P(JobSpecTest, IsRefusedWithWhatIsWrong) {
  v1::JobSpec spec = SmallJob();
  GetParam().spoil(spec);
  ManualClock clock;
  Reporter reporter(stdout);
  prometheus::Registry registry;
  CoordinatorMetrics metrics(registry);
  const absl::Status status =
      JobRun::Create(spec, 1, &clock, &reporter, &metrics).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Bad, JobSpecTest, ::testing::ValuesIn(BadSpecs()),
                         [](const auto& instance) {
                           return instance.param.name;
                         });

}  // namespace
}  // namespace paceline
