#include "common/clock.h"

#include <memory>

#include "common/status.h"
#include "common/utf8.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(RealClockTest, NeverGoesBack) {
  const Clock& clock = Clock::Real();
  absl::Time last = clock.Now();
  for (int i = 0; i < 10'000; ++i) {
    const absl::Time now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, GoesForward) {
  const Clock& clock = Clock::Real();
  const absl::Time began = clock.Now();
  // Ends with the test's time-out if it does not.
  while (clock.Now() == began) {
  }
  EXPECT_GT(clock.Now(), began);
}

TEST(RealClockTest, IsOneForTheProcess) {
  EXPECT_EQ(&Clock::Real(), &Clock::Real());
}

TEST(CutUtf8Test, CutsBetweenCharacters) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abc", 2), "ab");
  EXPECT_EQ(CutUtf8("a\xc3\xbc", 3), "a\xc3\xbc");
  EXPECT_EQ(CutUtf8("a\xc3\xbc", 2), "a");
  EXPECT_EQ(CutUtf8("\xe4\xb8\xad", 2), "");
  EXPECT_EQ(CutUtf8("", 0), "");
}

absl::Status PassOn(const absl::Status& status, bool& went_on) {
  PACELINE_RETURN_IF_ERROR(status);
  went_on = true;
  return absl::OkStatus();
}

TEST(ReturnIfErrorTest, ReturnsTheErrorAndGoesOnWithoutOne) {
  bool went_on = false;
  EXPECT_EQ(PassOn(absl::AbortedError("no"), went_on),
            absl::AbortedError("no"));
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(PassOn(absl::OkStatus(), went_on).ok());
  EXPECT_TRUE(went_on);
}

TEST(ReturnIfErrorTest, EvaluatesItsArgumentOnce) {
  int evaluated = 0;
  const auto count = [&]() -> absl::Status {
    const auto once = [&] {
      ++evaluated;
      return absl::UnknownError("x");
    };
    PACELINE_RETURN_IF_ERROR(once());
    return absl::OkStatus();
  };
  EXPECT_FALSE(count().ok());
  EXPECT_EQ(evaluated, 1);
}

absl::StatusOr<int> Twice(const absl::StatusOr<int>& number) {
  PACELINE_ASSIGN_OR_RETURN(const int value, number);
  int again = 0;
  PACELINE_ASSIGN_OR_RETURN(again, number);
  return value + again;
}

TEST(AssignOrReturnTest, AssignsTheValueOrReturnsTheError) {
  EXPECT_EQ(*Twice(21), 42);
  EXPECT_EQ(Twice(absl::NotFoundError("none")).status(),
            absl::NotFoundError("none"));
}

TEST(AssignOrReturnTest, MovesWhatCannotBeCopied) {
  const auto take = []() -> absl::StatusOr<std::unique_ptr<int>> {
    PACELINE_ASSIGN_OR_RETURN(auto owned, absl::StatusOr<std::unique_ptr<int>>(
                                              std::make_unique<int>(3)));
    return owned;
  };
  EXPECT_EQ(**take(), 3);
}

TEST(AnnotateTest, KeepsTheCodeAndSaysWhatWasBeingDone) {
  EXPECT_EQ(Annotate(Annotate(absl::DataLossError("file is truncated"),
                              "read checkpoint"),
                     "block 3"),
            absl::DataLossError("block 3: read checkpoint: file is truncated"));
}

TEST(AnnotateTest, LeavesOkAlone) {
  EXPECT_EQ(Annotate(absl::OkStatus(), "block 3"), absl::OkStatus());
}

TEST(AnnotateTest, PassesAValueOn) {
  EXPECT_EQ(*Annotate(absl::StatusOr<int>(7), "block 3"), 7);
  EXPECT_EQ(Annotate(absl::StatusOr<int>(absl::DataLossError("it is cut off")),
                     "block 3")
                .status(),
            absl::DataLossError("block 3: it is cut off"));
}

}  // namespace

}  // namespace paceline
