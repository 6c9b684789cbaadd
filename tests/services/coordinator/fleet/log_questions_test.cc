#include "services/coordinator/fleet/log_questions.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/fleet/gone_members.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kLong = absl::Seconds(30);

// What somebody gets who asks: exactly one answer.
class Asker {
 public:
  LogQuestions::Answered Take() {
    return [this](absl::StatusOr<LogQuestions::Lines> lines) {
      EXPECT_FALSE(answer_.has_value()) << "a second answer";
      answer_ = std::move(lines);
      answered_.Notify();
    };
  }
  bool answered() const { return answered_.HasBeenNotified(); }
  const absl::StatusOr<LogQuestions::Lines>& Await() {
    EXPECT_TRUE(answered_.WaitForNotificationWithTimeout(kLong));
    return *answer_;
  }

 private:
  std::optional<absl::StatusOr<LogQuestions::Lines>> answer_;
  absl::Notification answered_;
};

v1::LogTold Told(uint64_t question, const std::string& message) {
  v1::LogTold told;
  told.set_question(question);
  told.add_lines()->set_message(message);
  return told;
}

TEST(LogQuestionsTest, WhoWasAskedAnswers) {
  LogQuestions questions({.patience = kLong});
  Asker first;
  Asker second;
  const auto one = questions.Ask(1, "workers/w0", first.Take());
  const auto two = questions.Ask(1, "workers/w0", second.Take());
  ASSERT_TRUE(one.has_value() && two.has_value());
  questions.Told(1, Told(*two, "for the second"));
  ASSERT_TRUE(second.Await().ok());
  EXPECT_EQ(second.Await()->Get(0).message(), "for the second");
  EXPECT_FALSE(first.answered());
  questions.Told(1, Told(*one, "for the first"));
  EXPECT_EQ(first.Await()->Get(0).message(), "for the first");
}

TEST(LogQuestionsTest, WhatNobodyAskedIsDropped) {
  LogQuestions questions({.patience = kLong});
  Asker asker;
  const auto number = questions.Ask(1, "workers/w0", asker.Take());
  questions.Told(2, Told(*number, "another member's"));
  questions.Told(1, Told(*number + 1, "of no question"));
  EXPECT_FALSE(asker.answered());
  questions.Told(1, Told(*number, "right"));
  questions.Told(1, Told(*number, "again"));
  EXPECT_EQ(asker.Await()->Get(0).message(), "right");
}

// What a member tells is a stranger's word.
TEST(LogQuestionsTest, NoMoreIsPassedOnThanMayBeTold) {
  LogQuestions questions({.patience = kLong});
  Asker asker;
  v1::LogTold told;
  told.set_question(*questions.Ask(1, "workers/w0", asker.Take()));
  for (int i = 0; i < 2'500; ++i) {
    told.add_lines()->mutable_time()->set_seconds(i);
  }
  told.mutable_lines(2'499)->mutable_time()->set_seconds(253'402'300'800);
  told.mutable_lines(2'498)->mutable_time()->set_nanos(-1);
  questions.Told(1, std::move(told));
  const LogQuestions::Lines& lines = *asker.Await();
  ASSERT_EQ(lines.size(), 2'000);
  EXPECT_EQ(lines[0].time().seconds(), 500);
  EXPECT_FALSE(lines[1'999].has_time());
  EXPECT_FALSE(lines[1'998].has_time());
}

TEST(LogQuestionsTest, ASilentMemberIsNotWaitedForLonger) {
  LogQuestions questions({.patience = absl::Milliseconds(20)});
  Asker asker;
  const auto number = questions.Ask(1, "workers/w0", asker.Take());
  const absl::Status status = asker.Await().status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_EQ(ReasonOf(status), "MEMBER_SILENT");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("workers/w0 is connected and has not answered within "
                        "20ms"));
  questions.Told(1, Told(*number, "late"));
  // It goes on: the next one has a deadline, too.
  Asker next;
  questions.Ask(1, "workers/w0", next.Take());
  EXPECT_TRUE(absl::IsDeadlineExceeded(next.Await().status()));
}

TEST(LogQuestionsTest, AMemberThatGoesDoesNotAnswer) {
  LogQuestions questions({.patience = kLong});
  Asker gone;
  Asker other;
  questions.Ask(1, "workers/w0", gone.Take());
  questions.Ask(2, "workers/w1", other.Take());
  questions.Gone(1, "workers/w0", absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(gone.Await().status()));
  EXPECT_EQ(ReasonOf(gone.Await().status()), "MEMBER_ABSENT");
  EXPECT_FALSE(other.answered());
  questions.Close();
  EXPECT_TRUE(absl::IsUnavailable(other.Await().status()));
  Asker late;
  EXPECT_FALSE(questions.Ask(2, "workers/w1", late.Take()).has_value());
  EXPECT_TRUE(absl::IsUnavailable(late.Await().status()));
}

TEST(LogQuestionsTest, SoManyWaitAndNoMore) {
  LogQuestions questions({.patience = kLong, .open_max = 2});
  Asker open[2];
  for (Asker& asker : open) questions.Ask(1, "workers/w0", asker.Take());
  Asker refused;
  EXPECT_FALSE(questions.Ask(1, "workers/w0", refused.Take()).has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(refused.Await().status()));
  EXPECT_EQ(ReasonOf(refused.Await().status()), "TOO_MANY_QUESTIONS");
  EXPECT_TRUE(RetryDelayOf(refused.Await().status()).has_value());
  questions.Gone(1, "workers/w0", absl::OkStatus());
  Asker next;
  EXPECT_TRUE(questions.Ask(1, "workers/w0", next.Take()).has_value());
  questions.Close();
}

TEST(LogQuestionsTest, WhoeverWaitsIsToldWhenItEnds) {
  Asker asker;
  {
    LogQuestions questions({.patience = kLong});
    questions.Ask(1, "workers/w0", asker.Take());
  }
  EXPECT_TRUE(absl::IsUnavailable(asker.Await().status()));
}

TEST(GoneMembersTest, SaysWhatIsKnown) {
  GoneMembers gone;
  const absl::Time when = absl::FromUnixSeconds(1'764'295'200);
  gone.Note("workers/w0", when,
            absl::AbortedError("the lease ended: register anew"));
  gone.Note("workers/w1", when, absl::OkStatus());
  const auto text = [&](const std::string& name) {
    const absl::Status status = gone.NotConnected("paceline.v1.Worker", name);
    EXPECT_TRUE(absl::IsNotFound(status));
    EXPECT_EQ(ReasonOf(status), "RESOURCE_NOT_FOUND");
    return std::string(status.message());
  };
  EXPECT_THAT(text("workers/w0"),
              HasSubstr("was given up at 2025-11-28T02:00:00Z, because the "
                        "lease ended. Its log was with its process"));
  EXPECT_THAT(text("workers/w1"), HasSubstr("it left at 2025-11-28T02:00:00Z"));
  EXPECT_THAT(text("workers/w2"), HasSubstr("has not seen it lately"));
}

TEST(GoneMembersTest, OfOneNameTheLastTimeCountsAndOldOnesAreForgotten) {
  GoneMembers gone;
  gone.Note("workers/w0", absl::UnixEpoch(), absl::AbortedError("first"));
  gone.Note("workers/w0", absl::UnixEpoch(), absl::AbortedError("second"));
  const auto text = [&] {
    return std::string(
        gone.NotConnected("paceline.v1.Worker", "workers/w0").message());
  };
  EXPECT_THAT(text(), HasSubstr("second"));
  for (size_t i = 0; i < GoneMembers::kKept; ++i) {
    gone.Note("workers/x" + std::to_string(i), absl::UnixEpoch(),
              absl::OkStatus());
  }
  EXPECT_THAT(text(), Not(HasSubstr("second")));
}

}  // namespace
}  // namespace paceline
