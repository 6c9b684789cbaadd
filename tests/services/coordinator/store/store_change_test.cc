#include "services/coordinator/store/store_change.h"

#include "gtest/gtest.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

// One of everything that a batch can have.
StoreBatch Everything() {
  v1::Checkpoint checkpoint;
  checkpoint.set_name("namespaces/n/jobs/a/checkpoints/1");
  v1::AccuracyPoint point;
  point.set_accuracy(0.5);
  v1::AuditRecord record;
  record.set_message("did it");
  return {.deleted_jobs = {"uid-x"},
          .jobs = {JobNamed("a"), JobNamed("b")},
          .deleted_checkpoints = {"gone"},
          .checkpoints = {{"uid-a", checkpoint}},
          .reports = {{"uid-a", "{}"}},
          .decisions = {{"uid-a", DecisionNumbered(3)}},
          .accuracy_points = {{"uid-a", point}},
          .deleted_requests = {{"alice", "r-0"}},
          .requests = {{.identity = "alice",
                        .request_id = "r-1",
                        .digest = "d",
                        .resource = "namespaces/n/jobs/a",
                        .time = absl::FromUnixNanos(17)}},
          .audit_records = {record}};
}

TEST(StoreChangeTest, WhatGoesToAStandbyIsWhatWasWritten) {
  const v1::StoreChange change = ToChange(Everything());
  EXPECT_EQ(change.of_jobs_size(), 4);
  const StoreBatch back = FromChange(change);
  EXPECT_EQ(ToChange(back).SerializeAsString(), change.SerializeAsString());
  ASSERT_EQ(back.requests.size(), 1u);
  EXPECT_EQ(back.requests[0].digest, "d");
  EXPECT_EQ(back.requests[0].time, absl::FromUnixNanos(17));
  ASSERT_EQ(back.decisions.size(), 1u);
  EXPECT_EQ(back.decisions[0].decision.sequence(), 3);
  EXPECT_EQ(back.deleted_jobs, Everything().deleted_jobs);
  EXPECT_FALSE(back.empty());
  EXPECT_TRUE(FromChange({}).empty());
}

}  // namespace
}  // namespace paceline
