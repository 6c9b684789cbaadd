// Who works for which job: tests/testdata/assignment/*.txt.

#include "services/coordinator/fleet/assignment.h"

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "tests/services/coordinator/fleet/assignment_script.h"
#include "tests/services/coordinator/fleet/small_cluster.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {
namespace {

class AssignmentTest : public testing::TestWithParam<std::string> {};

TEST_P(AssignmentTest, Matches) {
  AssignmentScript script;
  CheckScript(GetParam(), [&script](const std::string& commands) {
    return script.Run(commands);
  });
}

INSTANTIATE_TEST_SUITE_P(Scripts, AssignmentTest,
                         testing::ValuesIn(ScriptsIn("assignment")),
                         ScriptName);

TEST(EvaluatorAssignmentTest, AllJobsHaveTheirTurn) {
  SmallCluster cluster;
  cluster.AddWorkers(5);
  for (int i = 0; i < 5; ++i) {
    cluster.job(cluster.AddJob(1, 1)).evaluation_pending = true;
  }
  cluster.Settle();
  cluster.AddEvaluator();
  cluster.AddEvaluator();
  std::map<JobNumber, int> turns;
  for (int i = 0; i < 50; ++i) {
    cluster.Step();
    for (const auto& move : cluster.plan().assign) ++turns[move.job];
    cluster.now += absl::Seconds(1);
    cluster.AllLeave();
  }
  ASSERT_EQ(turns.size(), 5u);
  for (const auto& [job, count] : turns) {
    EXPECT_NEAR(count, turns[1], 1) << job;
  }
  EXPECT_GT(turns[1], 3);
}

}  // namespace
}  // namespace paceline
