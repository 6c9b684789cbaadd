#include "services/coordinator/fleet/job_trouble.h"

#include <string>

#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const absl::Status kKilled = absl::AbortedError("exited with 137 (killed)");

TEST(JobTroubleTest, ABuiltInModelThatFailsWouldFailAgain) {
  JobTrouble trouble;
  EXPECT_FALSE(trouble.unfit());
  trouble.MakeUnfit("no such folder");
  EXPECT_TRUE(trouble.unfit());
  EXPECT_EQ(trouble.why(), "no such folder");
}

// Whoever kills it: each time it has done something.
TEST(JobTroubleTest, AProgramMayDieAsOftenAsItMakesProgress) {
  JobTrouble trouble;
  for (int64_t done = 32; done < 32 * 500; done += 32) {
    trouble.ProgramFailed(/*run=*/7, done, kKilled);
    ASSERT_FALSE(trouble.unfit()) << done;
  }
}

TEST(JobTroubleTest, AProgramThatDoesNothingInBetweenIsGivenUp) {
  JobTrouble trouble;
  trouble.ProgramFailed(7, 64, kKilled);
  for (int i = 1; i < JobTrouble::kInARow - 1; ++i) {
    trouble.ProgramFailed(7, 64, kKilled);
    EXPECT_FALSE(trouble.unfit()) << i;
  }
  // Something done: the row begins anew.
  trouble.ProgramFailed(7, 65, kKilled);
  for (int i = 1; i < JobTrouble::kInARow; ++i) {
    EXPECT_FALSE(trouble.unfit()) << i;
    trouble.ProgramFailed(7, 65, kKilled);
  }
  EXPECT_TRUE(trouble.unfit());
  EXPECT_THAT(trouble.why(), HasSubstr("failed 5 times in a row"));
  EXPECT_THAT(trouble.why(), HasSubstr("exited with 137 (killed)"));
}

// A job that is interrupted because of it begins another run at 0 samples.
TEST(JobTroubleTest, ARowGoesOnInTheNextRun) {
  JobTrouble trouble;
  trouble.ProgramFailed(7, 640, kKilled);
  for (int i = 1; i < JobTrouble::kInARow; ++i) {
    EXPECT_FALSE(trouble.unfit());
    trouble.ProgramFailed(8, 0, kKilled);
  }
  EXPECT_TRUE(trouble.unfit());

  JobTrouble again;
  for (uint64_t run = 1; run < 100; ++run) again.ProgramFailed(run, 5, kKilled);
  EXPECT_FALSE(again.unfit()) << "each run counts from 0";
}

TEST(JobTroubleTest, WhatIsWrongForGoodIsNotTriedAgain) {
  for (const absl::Status& why :
       {absl::InvalidArgumentError("sparse gradient"),
        absl::FailedPreconditionError("another optimizer"),
        absl::NotFoundError("no such script"),
        absl::UnimplementedError("protocol 2")}) {
    JobTrouble trouble;
    trouble.ProgramFailed(7, 640, why);
    EXPECT_TRUE(trouble.unfit()) << why;
    EXPECT_EQ(trouble.why(), why.message());
  }
}

TEST(JobTroubleTest, AReasonIsCutWhereItGetsLong) {
  JobTrouble trouble;
  trouble.ProgramFailed(7, 0, absl::InternalError(std::string(9000, 'x')));
  EXPECT_THAT(trouble.why(), SizeIs(JobTrouble::kWhyMax));
}

}  // namespace
}  // namespace paceline
