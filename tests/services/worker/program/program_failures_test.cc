#include "services/worker/program/program_failures.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

absl::Status Said(int number) {
  return absl::UnknownError(
      absl::StrCat("in step ", number, ": IndexError at 0xbeef", number));
}

TEST(ProgramFailuresTest, TheSameWordsThreeTimesInARowAreFinal) {
  ProgramFailures failures;
  EXPECT_EQ(failures.Ended(7, Said(1)), Said(1));
  EXPECT_EQ(failures.Ended(7, Said(22)), Said(22));
  EXPECT_EQ(failures.Ended(7, Said(333)),
            absl::FailedPreconditionError(
                absl::StrCat(Said(333).message(),
                             "; it has failed in this way 3 times in a row")));
}

TEST(ProgramFailuresTest, OtherWordsBeginAnew) {
  ProgramFailures failures;
  for (int life = 0; life < 100; ++life) {
    const absl::Status why =
        life % 3 == 2 ? absl::UnknownError("OSError") : Said(life);
    EXPECT_EQ(failures.Ended(7, why), why);
  }
}

TEST(ProgramFailuresTest, DeathsWithoutAWordAreNotCounted) {
  ProgramFailures failures;
  const absl::Status killed = absl::UnavailableError("exited with 137");
  for (int life = 0; life < 200; ++life) {
    EXPECT_EQ(failures.Ended(7, killed), killed);
  }
  failures.Ended(7, Said(1)).IgnoreError();
  failures.Ended(7, Said(2)).IgnoreError();
  EXPECT_EQ(failures.Ended(7, killed), killed);
  EXPECT_TRUE(absl::IsFailedPrecondition(failures.Ended(7, Said(3))))
      << "and hide nothing";
}

TEST(ProgramFailuresTest, EveryRunHasItsOwnCount) {
  ProgramFailures failures;
  for (uint64_t run = 1; run < 100; ++run) {
    EXPECT_EQ(failures.Ended(run, Said(1)), Said(1));
    EXPECT_EQ(failures.Ended(run, Said(1)), Said(1));
  }
}

}  // namespace
}  // namespace paceline
