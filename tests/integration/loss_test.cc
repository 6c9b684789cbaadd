// The loss of a worker holds nobody up, under any paradigm: `paceline local`
// with real processes, one of which is killed or stopped in the middle.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/common/sanitized.h"
#include "tests/integration/local_cluster.h"
#include "tests/integration/local_command.h"

namespace paceline {
namespace {

constexpr int kSamples = 1024;
// About 15,360 / 32 * 40 ms / 4 = 5 s, or more with a lost worker: long enough
// to lose one after the training has begun. Under a sanitizer it takes 20 s.
constexpr int kEpochs = kSanitized ? 6 : 15;

std::vector<std::string> Arguments(const std::string& paradigm) {
  return {"--data",       "synthetic:tiny",
          "--model",      "logreg",
          "--workers",    "4",
          "--servers",    "2",
          "--epochs",     std::to_string(kEpochs),
          "--step-time",  "40ms",
          "--lease",      absl::FormatDuration(TestLease()),
          "--defer-eval", "--eval-every",
          "1024",         "--paradigm",
          paradigm,       "-o",
          "json"};
}

// Beyond the lease, in which whoever is gone may come back, and what it had in
// hand, which is computed anew.
void ExpectNobodyWasHeldUp(const nlohmann::json& document) {
  const double most = absl::ToDoubleSeconds(1.5 * TestLease());
  ASSERT_EQ(document["runs"].size(), 1);
  const nlohmann::json& run = document["runs"][0];
  EXPECT_EQ(run["samples"], kSamples * kEpochs);
  for (const auto& worker : run["workers"]) {
    if (worker["worker"] == "w3") continue;
    EXPECT_LT(worker["longest_wait_seconds"], most) << worker;
  }
}

class LossTest : public testing::TestWithParam<const char*> {};

TEST_P(LossTest, OfAKilledWorkerHoldsNobodyUp) {
  LocalCommand command(Arguments(GetParam()));
  ASSERT_TRUE(command.AwaitLine(" training "));
  ASSERT_EQ(kill(command.PidOf("w3"), SIGKILL), 0);
  EXPECT_EQ(command.Wait(), 0) << command.err();
  ExpectNobodyWasHeldUp(command.document());
}

TEST_P(LossTest, OfAStoppedWorkerHoldsNobodyUpBeyondItsLease) {
  LocalCommand command(Arguments(GetParam()));
  ASSERT_TRUE(command.AwaitLine(" training "));
  const pid_t stopped = command.PidOf("w3");
  ASSERT_EQ(kill(stopped, SIGSTOP), 0);
  // Its lease ends, or its grant is open for too long: whichever comes first
  // depends on when its last heartbeat was.
  ASSERT_TRUE(command.AwaitLine(" w3: lost ("));
  ASSERT_EQ(kill(stopped, SIGCONT), 0);
  EXPECT_EQ(command.Wait(), 0) << command.err();
  ExpectNobodyWasHeldUp(command.document());
}

// Its part of the data is not lost with it.
TEST(StaticPartsLossTest, OfAKilledWorkerLosesNoSamples) {
  std::vector<std::string> arguments = Arguments("asp");
  arguments.insert(arguments.end(), {"--data-assignment", "static"});
  LocalCommand command(arguments);
  ASSERT_TRUE(command.AwaitLine(" training "));
  ASSERT_EQ(kill(command.PidOf("w3"), SIGKILL), 0);
  EXPECT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json document = command.document();
  ExpectNobodyWasHeldUp(document);
  int64_t others = 0;
  for (const auto& worker : document["runs"][0]["workers"]) {
    if (worker["worker"] != "w3") others += worker["samples"].get<int64_t>();
  }
  // More than three of four parts.
  EXPECT_GT(others, kSamples * kEpochs / 4 * 3);
}

// All that it had in flight is dealt again.
TEST(InFlightLossTest, OfAKilledWorkerLosesNoSamples) {
  std::vector<std::string> arguments = Arguments("asp");
  arguments.insert(arguments.end(), {"--in-flight", "2"});
  LocalCommand command(arguments);
  ASSERT_TRUE(command.AwaitLine(" training "));
  ASSERT_EQ(kill(command.PidOf("w3"), SIGKILL), 0);
  ASSERT_TRUE(command.AwaitLine(" w3.2: lost ("));
  EXPECT_EQ(command.Wait(), 0) << command.err();
  EXPECT_EQ(command.document()["runs"][0]["samples"], kSamples * kEpochs);
}

INSTANTIATE_TEST_SUITE_P(Paradigms, LossTest,
                         testing::Values("bsp", "asp", "ssp:s=3",
                                         "dssp:lower=3,upper=15"),
                         [](const auto& param) {
                           return std::string(param.param)
                               .substr(0, std::string(param.param).find(':'));
                         });

}  // namespace
}  // namespace paceline
