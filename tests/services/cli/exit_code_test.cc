#include "services/cli/exit_code.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(ExitCodeTest, FollowsTheStatusOfARun) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kSuccess);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), ExitCode::kFailed);
  EXPECT_EQ(ExitCodeOf(absl::UnknownError("")), ExitCode::kFailed);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), ExitCode::kNotFound);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")),
            ExitCode::kPrecondition);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), ExitCode::kDenied);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")),
            ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("")), ExitCode::kInterrupted);
}

TEST(ExitCodeTest, WrongInputIsUsageUnlessAFileIsMissing) {
  EXPECT_EQ(ExitCodeOfInput(absl::OkStatus()), ExitCode::kSuccess);
  EXPECT_EQ(ExitCodeOfInput(absl::NotFoundError("")), ExitCode::kNotFound);
  EXPECT_EQ(ExitCodeOfInput(absl::DataLossError("")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOfInput(absl::InvalidArgumentError("")), ExitCode::kUsage);
}

}  // namespace
}  // namespace paceline
