#include "services/coordinator/watch/job_events.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

v1::Job JobNamed(const std::string& name) {
  v1::Job job;
  job.set_name(name);
  return job;
}

// Of a job that is watched in one life.
JobEvents::ReadHistory NoHistory() {
  return [](const auto&, const auto&, int64_t) {
    ADD_FAILURE() << "nothing was missed";
    return std::vector<v1::WatchJobResponse>();
  };
}

v1::JobProgress ProgressAt(int64_t samples) {
  v1::JobProgress progress;
  progress.set_samples(samples);
  return progress;
}

TEST(JobEventsTest, TheJobAsItIsHasItsLatestProgress) {
  JobEvents events(JobNamed("a"), 1);
  events.JobChanged(JobNamed("b"));
  events.SetProgress(ProgressAt(5));
  JobEvents::Cursor cursor;
  const auto first = events.Next(cursor);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->job().name(), "b");
  EXPECT_EQ(first->job().progress().samples(), 5);
  EXPECT_FALSE(events.Next(cursor).has_value());
}

TEST(JobEventsTest, AJobThatHasChangedSinceHasItsOwnProgress) {
  JobEvents events(JobNamed("a"), 1);
  events.SetProgress(ProgressAt(5));
  v1::Job ended = JobNamed("a");
  *ended.mutable_progress() = ProgressAt(6);
  events.JobChanged(ended);
  JobEvents::Cursor cursor;
  EXPECT_EQ(events.Next(cursor)->job().progress().samples(), 6);
}

TEST(JobEventsTest, EveryKindOfEventArrivesWithAToken) {
  JobEvents events(JobNamed("a"), 1);
  JobEvents::Cursor cursor;
  ASSERT_TRUE(events.Next(cursor).has_value());
  events.JobChanged(JobNamed("b"));
  v1::WatchJobResponse decision;
  decision.mutable_decision()->set_sequence(3);
  events.Append(decision);
  events.SetProgress(ProgressAt(7));
  EXPECT_EQ(events.Next(cursor)->job().name(), "b");
  const auto second = events.Next(cursor);
  EXPECT_EQ(second->decision().sequence(), 3);
  EXPECT_EQ(events.Next(cursor)->progress().samples(), 7);
  events.Append(decision);
  JobEvents::Cursor resumed =
      *events.Place(second->resume_token(), NoHistory());
  EXPECT_EQ(events.Next(resumed)->progress().samples(), 7);
  EXPECT_TRUE(events.Next(resumed)->has_decision());
  EXPECT_FALSE(events.Next(resumed).has_value());
}

v1::WatchJobResponse DecisionNumbered(int64_t sequence) {
  v1::WatchJobResponse event;
  event.mutable_decision()->set_sequence(sequence);
  return event;
}

v1::WatchJobResponse PointAt(int64_t samples) {
  v1::WatchJobResponse event;
  event.mutable_accuracy()->set_samples(samples);
  return event;
}

// A job's history, as a store has it.
class History {
 public:
  void Add(const v1::WatchJobResponse& event) {
    if (event.has_decision()) decisions_.push_back(event);
    if (event.has_accuracy()) points_.push_back(event);
  }
  HistoryPlace place() const {
    return {static_cast<int64_t>(decisions_.size()),
            static_cast<int64_t>(points_.size())};
  }
  JobEvents::ReadHistory Reader() const {
    return [this](const HistoryPlace& after, const HistoryPlace& until,
                  int64_t limit) {
      std::vector<v1::WatchJobResponse> found;
      for (int64_t i = after.decisions;
           i < std::min(until.decisions, after.decisions + limit); ++i) {
        found.push_back(decisions_[i]);
      }
      for (int64_t i = after.points;
           i < std::min(until.points, after.points + limit); ++i) {
        found.push_back(points_[i]);
      }
      return found;
    };
  }

 private:
  std::vector<v1::WatchJobResponse> decisions_;
  std::vector<v1::WatchJobResponse> points_;
};

// "job:b d3 a5": what comes, until there is nothing more.
std::string ReadAll(const JobEvents& events, JobEvents::Cursor& cursor,
                    std::string* token = nullptr, int most = 10'000) {
  std::vector<std::string> got;
  while (most-- > 0) {
    const auto next = events.Next(cursor);
    if (!next.has_value()) break;
    if (next->has_job()) got.push_back("job:" + next->job().name());
    if (next->has_decision()) {
      got.push_back(absl::StrCat("d", next->decision().sequence()));
    }
    if (next->has_accuracy()) {
      got.push_back(absl::StrCat("a", next->accuracy().samples()));
    }
    if (token != nullptr) *token = next->resume_token();
  }
  return absl::StrJoin(got, " ");
}

TEST(JobEventsTest, WhoWatchedInAnotherLifeGetsWhatWasMissed) {
  History history;
  JobEvents before(JobNamed("a"), 1);
  const auto happens = [&](const v1::WatchJobResponse& event) {
    history.Add(event);
    before.Append(event);
  };
  happens(DecisionNumbered(1));
  JobEvents::Cursor cursor;
  std::string token;
  EXPECT_EQ(ReadAll(before, cursor, &token), "job:a");
  happens(DecisionNumbered(2));
  EXPECT_EQ(ReadAll(before, cursor, &token), "d2");
  happens(DecisionNumbered(3));
  happens(PointAt(7));
  // Another coordinator goes on.
  JobEvents after(JobNamed("b"), 2, history.place());
  after.Append(DecisionNumbered(4));
  after.JobChanged(JobNamed("c"));
  const std::string all = "job:b d3 a7 d4 job:c";
  cursor = *after.Place(token, history.Reader());
  EXPECT_EQ(ReadAll(after, cursor), all);
  EXPECT_EQ(after.EndedAt(cursor), std::nullopt);
  // Wherever that breaks off, and in whichever life it goes on.
  for (int first = 1; first <= 5; ++first) {
    cursor = *after.Place(token, history.Reader());
    std::string then;
    std::string got = ReadAll(after, cursor, &then, first);
    cursor = *after.Place(then, history.Reader());
    std::string rest = ReadAll(after, cursor);
    // The job is told again until all that was missed has come.
    if (first < 3) rest = std::string(absl::StripPrefix(rest, "job:b "));
    if (!rest.empty()) absl::StrAppend(&got, " ", rest);
    EXPECT_EQ(got, all) << first;
  }
}

TEST(JobEventsTest, WhoMissedTooMuchBeginsAnew) {
  History history;
  for (int i = 1; i <= 1'001; ++i) history.Add(DecisionNumbered(i));
  JobEvents before(JobNamed("a"), 1);
  JobEvents::Cursor cursor;
  std::string token;
  ReadAll(before, cursor, &token);
  const JobEvents after(JobNamed("b"), 2, history.place());
  cursor = *after.Place(token, history.Reader());
  EXPECT_EQ(ReadAll(after, cursor, &token), "job:b");
  // Nothing is missed from here on.
  cursor = *after.Place(token, history.Reader());
  EXPECT_EQ(ReadAll(after, cursor), "");
}

TEST(JobEventsTest, AHistoryThatCannotBeReadIsAnError) {
  const JobEvents events(JobNamed("a"), 2);
  const auto failing = [](const auto&, const auto&, int64_t) {
    return absl::UnavailableError("no disk");
  };
  EXPECT_TRUE(absl::IsUnavailable(
      events.Place(FormatResumeToken({"1", 5}), failing).status()));
}

TEST(JobEventsTest, WhatIsNoTokenIsRefusedWithTheField) {
  const JobEvents events(JobNamed("a"), 1);
  const absl::Status status = events.Place("12.x", NoHistory()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("resume_token"), absl::string_view::npos);
  EXPECT_TRUE(status.GetPayload("type.googleapis.com/google.rpc.BadRequest"))
      << status;
}

TEST(JobEventsTest, TheEnd) {
  JobEvents events(JobNamed("a"), 1);
  JobEvents::Cursor cursor;
  events.Close(absl::OkStatus());
  EXPECT_FALSE(events.EndedAt(cursor).has_value());
  ASSERT_TRUE(events.Next(cursor).has_value());
  EXPECT_EQ(events.EndedAt(cursor), absl::OkStatus());
}

}  // namespace
}  // namespace paceline
