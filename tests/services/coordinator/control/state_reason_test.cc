#include "services/coordinator/control/state_reason.h"

#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::Job JobIn(v1::Job::State state, const std::string& from = "") {
  v1::Job job;
  job.set_state(state);
  job.set_restore_from(from);
  return job;
}

v1::Checkpoint Saved(const std::string& name, v1::Checkpoint::State state,
                     int64_t samples) {
  v1::Checkpoint checkpoint;
  checkpoint.set_name(name);
  checkpoint.set_state(state);
  checkpoint.set_samples(samples);
  return checkpoint;
}

// Newest first.
const std::vector<v1::Checkpoint>& Three() {
  static const auto& three =
      *new std::vector<v1::Checkpoint>{Saved("c3", v1::Checkpoint::FAILED, 30),
                                       Saved("c2", v1::Checkpoint::READY, 20),
                                       Saved("c1", v1::Checkpoint::READY, 10)};
  return three;
}

RunOutcome Failed(absl::string_view why) {
  return {.status = absl::UnavailableError(why)};
}

TEST(ReasonAfterTest, AFailureOfItsOwnIsNotMendedByACheckpoint) {
  EXPECT_EQ(
      ReasonAfter(Failed("no data"), JobIn(v1::Job::FAILED), "", &Three()),
      "UNAVAILABLE: no data");
}

TEST(ReasonAfterTest, LostWeightsAreRestoredFromTheNewestThatIsReady) {
  RunOutcome outcome = Failed("s0 is gone");
  outcome.weights_lost = true;
  const v1::Job job = JobIn(v1::Job::FAILED);
  EXPECT_EQ(ReasonAfter(outcome, job, "", &Three()),
            "UNAVAILABLE: s0 is gone: restore the job, and it goes on from c2 "
            "(20 samples)");
  const std::vector<v1::Checkpoint> failed = {Three()[0]};
  EXPECT_EQ(ReasonAfter(outcome, job, "", &failed),
            "UNAVAILABLE: s0 is gone: the job has no checkpoint to go on from, "
            "create one anew");
  // Nothing is promised that the store could not say.
  EXPECT_EQ(ReasonAfter(outcome, job, "", nullptr), "UNAVAILABLE: s0 is gone");
}

TEST(ReasonAfterTest, WhatHasDivergedIsNoWayBack) {
  RunOutcome outcome = Failed("s0 is gone");
  outcome.weights_lost = true;
  const std::vector<v1::Checkpoint> both = {
      Saved("jobs/j/checkpoints/diverged-30-0001", v1::Checkpoint::READY, 30),
      Saved("jobs/j/checkpoints/auto-20-0001", v1::Checkpoint::READY, 20)};
  EXPECT_THAT(ReasonAfter(outcome, JobIn(v1::Job::FAILED), "", &both),
              HasSubstr("goes on from jobs/j/checkpoints/auto-20-0001"));
  outcome.diverged = true;
  const std::vector<v1::Checkpoint> one = {both[0]};
  EXPECT_THAT(ReasonAfter(outcome, JobIn(v1::Job::FAILED), "", &one),
              HasSubstr("create a job anew, with a lower learning rate"));
}

TEST(ReasonAfterTest, ADamagedCheckpointLeavesTheOthers) {
  RunOutcome outcome = Failed("c2 is damaged");
  outcome.unrestored = true;
  EXPECT_THAT(ReasonAfter(outcome, JobIn(v1::Job::FAILED, "c2"), "", &Three()),
              HasSubstr("another checkpoint, c1 (10 samples): paceline job "
                        "restore JOB --checkpoint NAME"));
  const std::vector<v1::Checkpoint> one = {Three()[1]};
  EXPECT_THAT(ReasonAfter(outcome, JobIn(v1::Job::FAILED, "c2"), "", &one),
              HasSubstr("no other checkpoint"));
}

TEST(ReasonAfterTest, InitialWeightsThatDoNotFitHaveNoOthers) {
  RunOutcome outcome = Failed("the initial weights are damaged");
  outcome.unrestored = true;
  const std::vector<v1::Checkpoint> none;
  EXPECT_EQ(ReasonAfter(outcome, JobIn(v1::Job::FAILED), "", &none),
            "UNAVAILABLE: the initial weights are damaged");
}

TEST(ReasonAfterTest, WhoLeftUnsavedSaysWhereTheJobGoesOn) {
  RunOutcome outcome = Failed("s0 has gone");
  outcome.left_unsaved = outcome.weights_lost = true;
  EXPECT_EQ(ReasonAfter(outcome, JobIn(v1::Job::PAUSED, "c2"), "", &Three()),
            "s0 has gone: resume it, and it goes on from c2");
  EXPECT_EQ(ReasonAfter(outcome, JobIn(v1::Job::PAUSED), "", &Three()),
            "s0 has gone: resume it, and it begins anew");
}

TEST(ReasonAfterTest, AnInterruptionIsKept) {
  EXPECT_EQ(ReasonAfter({}, JobIn(v1::Job::PENDING), "s0 is leaving", nullptr),
            "s0 is leaving");
  EXPECT_EQ(ReasonAfter({.out_of_workers = true}, JobIn(v1::Job::PENDING), "",
                        nullptr),
            "its workers are gone: waits for others");
}

TEST(ReasonAfterTest, SuccessBeforeAllSamplesHasAReason) {
  RunOutcome outcome;
  EXPECT_EQ(ReasonAfter(outcome, JobIn(v1::Job::SUCCEEDED), "", nullptr), "");
  outcome.ended_early = "ended early: its 3 s are over";
  EXPECT_EQ(ReasonAfter(outcome, JobIn(v1::Job::SUCCEEDED), "", nullptr),
            outcome.ended_early);
  outcome.warning = "the loss has not fallen";  // More is to be done about it.
  EXPECT_EQ(ReasonAfter(outcome, JobIn(v1::Job::SUCCEEDED), "", nullptr),
            outcome.warning);
}

TEST(UnsavedReasonTest, SaysWhyHowOftenAndWhenNext) {
  const SavingDelayed failed{absl::ResourceExhaustedError("s0: full"), 3,
                             absl::Seconds(4)};
  EXPECT_THAT(UnsavedReason(failed, ""),
              StartsWith("its weights cannot be saved: s0: full; tried 3 "
                         "times, again in 4s. "));
  EXPECT_THAT(UnsavedReason(failed, "s0 is leaving"),
              StartsWith("s0 is leaving; its weights cannot be saved"));
  const SavingDelayed slow{absl::DeadlineExceededError("s0 still writes"), 1,
                           absl::ZeroDuration()};
  EXPECT_THAT(UnsavedReason(slow, ""),
              StartsWith("its weights take long to be saved: s0 still writes; "
                         "attempt 1 is under way. "));
}

}  // namespace
}  // namespace paceline
