#include "services/coordinator/watch/job_events.h"

#include <string>

#include "gtest/gtest.h"

namespace paceline {
namespace {

v1::Job JobNamed(const std::string& name) {
  v1::Job job;
  job.set_name(name);
  return job;
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
  JobEvents::Cursor cursor = *events.Place("");
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
  JobEvents::Cursor cursor = *events.Place("");
  EXPECT_EQ(events.Next(cursor)->job().progress().samples(), 6);
}

TEST(JobEventsTest, EveryKindOfEventArrivesWithAToken) {
  JobEvents events(JobNamed("a"), 1);
  JobEvents::Cursor cursor = *events.Place("");
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
  JobEvents::Cursor resumed = *events.Place(second->resume_token());
  EXPECT_EQ(events.Next(resumed)->progress().samples(), 7);
  EXPECT_TRUE(events.Next(resumed)->has_decision());
  EXPECT_FALSE(events.Next(resumed).has_value());
}

TEST(JobEventsTest, ATokenOfAnotherLifeBeginsAnew) {
  JobEvents before(JobNamed("a"), 1);
  JobEvents::Cursor cursor = *before.Place("");
  const std::string token = before.Next(cursor)->resume_token();
  JobEvents after(JobNamed("b"), 2);
  cursor = *after.Place(token);
  EXPECT_EQ(after.Next(cursor)->job().name(), "b");
}

TEST(JobEventsTest, WhatIsNoTokenIsRefusedWithTheField) {
  const JobEvents events(JobNamed("a"), 1);
  const absl::Status status = events.Place("12.x").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("resume_token"), absl::string_view::npos);
  EXPECT_TRUE(status.GetPayload("type.googleapis.com/google.rpc.BadRequest"))
      << status;
}

TEST(JobEventsTest, TheEnd) {
  JobEvents events(JobNamed("a"), 1);
  JobEvents::Cursor cursor = *events.Place("");
  events.Close(absl::OkStatus());
  EXPECT_FALSE(events.EndedAt(cursor).has_value());
  ASSERT_TRUE(events.Next(cursor).has_value());
  EXPECT_EQ(events.EndedAt(cursor), absl::OkStatus());
}

}  // namespace
}  // namespace paceline
