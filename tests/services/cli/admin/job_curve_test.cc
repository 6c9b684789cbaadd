#include "services/cli/admin/output/job_curve.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/admin/output/tensorboard_file.h"
#include "services/cli/admin/output/training_clock.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

v1::Decision DecisionAt(double seconds, int64_t unix_seconds) {
  v1::Decision decision;
  decision.set_seconds(seconds);
  decision.mutable_time()->set_seconds(unix_seconds);
  return decision;
}

v1::Job JobStartedAt(int64_t unix_seconds) {
  v1::Job job;
  job.set_name("namespaces/default/jobs/mnist");
  job.mutable_start_time()->set_seconds(unix_seconds);
  return job;
}

double UnixSecondsAt(const TrainingClock& clock, double seconds) {
  return absl::ToDoubleSeconds(clock.At(seconds) - absl::UnixEpoch());
}

TEST(TrainingClockTest, CountsFromTheFirstGrant) {
  const TrainingClock clock(JobStartedAt(100), {DecisionAt(0, 60)});
  EXPECT_DOUBLE_EQ(UnixSecondsAt(clock, 0), 100);
  EXPECT_DOUBLE_EQ(UnixSecondsAt(clock, 2.5), 102.5);
}

TEST(TrainingClockTest, StandsStillInAPause) {
  const TrainingClock clock(
      JobStartedAt(100),
      {DecisionAt(0, 100), DecisionAt(9, 109), DecisionAt(10, 110),
       DecisionAt(10, 500), DecisionAt(10, 501)});
  EXPECT_DOUBLE_EQ(UnixSecondsAt(clock, 9.5), 109.5);
  EXPECT_DOUBLE_EQ(UnixSecondsAt(clock, 10), 110);
  EXPECT_DOUBLE_EQ(UnixSecondsAt(clock, 10.5), 501.5);
}

// It went back from 20 s to 5 s, so what it decided in between is of no use.
TEST(TrainingClockTest, ForgetsACourseThatTheJobWentBackFrom) {
  const TrainingClock clock(JobStartedAt(100),
                            {DecisionAt(4, 104), DecisionAt(12, 112),
                             DecisionAt(20, 120), DecisionAt(5, 300)});
  EXPECT_DOUBLE_EQ(UnixSecondsAt(clock, 4.5), 104.5);
  EXPECT_DOUBLE_EQ(UnixSecondsAt(clock, 13), 308);
}

constexpr char kReport[] = R"({
  "accuracy": [
    {"seconds": 1.25, "version": 20, "version_at_completion": 21,
     "samples": 640, "accuracy": 0.51234567890123, "loss": 1.5},
    {"seconds": 2.5, "version": 40, "version_at_completion": 40,
     "samples": 1280, "accuracy": null, "loss": null,
     "metrics": {"top5": 0.9, "f1, macro": 0.25}}],
  "switches": [{"seconds": 2, "from": "bsp", "to": "asp", "reason": "slow w2",
    "version": 30, "samples": 1000, "took_seconds": null}],
  "workers": [{"worker": "w0", "iterations": 40, "samples": 1280,
    "seconds": {"load": 0, "compute": 1, "push": 0, "wait": 1, "pull": 0}}]})";

JobCurve SampleCurve() {
  v1::JobReport report;
  report.set_json(kReport);
  const v1::Job job = JobStartedAt(1'800'000'000);
  return *ReadJobCurve(job, report, TrainingClock(job, {}));
}

TEST(JobCurveTest, Text) {
  EXPECT_EQ(
      CurveText(SampleCurve(), /*wide=*/false, /*headers=*/true),
      "TIME                   SECONDS   SAMPLES   VERSION   ACCURACY   LOSS    "
      " "
      "F1, MACRO   TOP5\n"
      "2027-01-15T08:00:01Z   1.2       640       20        0.5123     1.5000  "
      " "
      "<none>      <none>\n"
      "2027-01-15T08:00:02Z   2.5       1280      40        <none>     <none>  "
      " "
      "0.25        0.9\n"
      "\n"
      "SWITCHED AT   SAMPLES   FROM   TO    REASON\n"
      "2.0           1000      bsp    asp   slow w2\n"
      "\n"
      "workers (gap and staleness: median/99th percentile/maximum)\n"
      "  WORKER  ITERATIONS  SAMPLES  COMPUTE  WAIT  PUSH  PULL  GAP  "
      "STALENESS\n"
      "  w0              40     1280      50%   50%    0%    0%    -     "
      "     -\n");
}

TEST(JobCurveTest, Csv) {
  const JobCurve curve = SampleCurve();
  const Table table = PointsForPrograms({&curve.points[0], &curve.points[1]},
                                        {curve.times[0], curve.times[1]});
  EXPECT_EQ(CsvText(table, /*headers=*/true),
            "time,seconds,samples,version,accuracy,loss,\"f1, macro\",top5\n"
            "2027-01-15T08:00:01.250Z,1.25,640,20,0.51234567890123,1.5,,\n"
            "2027-01-15T08:00:02.500Z,2.5,1280,40,,,0.25,0.9\n");
  EXPECT_EQ(CsvText({.headers = {"a"}, .rows = {{"say \"x\"\n"}}}, false),
            "\"say \"\"x\"\"\n\"\n");
}

TEST(JobCurveTest, Document) {
  const Json document = CurveDocument(SampleCurve());
  EXPECT_EQ(document["job"], "namespaces/default/jobs/mnist");
  EXPECT_EQ(document["evaluations"][1],
            Json::parse(R"({"time": "2027-01-15T08:00:02.500Z", "seconds": 2.5,
              "samples": 1280, "version": 40, "accuracy": null, "loss": null,
              "metrics": {"f1, macro": 0.25, "top5": 0.9}})"));
  EXPECT_EQ(document["switches"], Json::parse(kReport)["switches"]);
  EXPECT_EQ(document["workers"], Json::parse(kReport)["workers"]);
}

TEST(JobCurveTest, Scalars) {
  const std::vector<ScalarStep> steps = CurveScalars(SampleCurve());
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].step, 640);
  EXPECT_EQ(steps[0].time, absl::FromUnixMillis(1'800'000'001'250));
  EXPECT_THAT(steps[0].values, ElementsAre(Pair("accuracy", 0.51234567890123F),
                                           Pair("loss", 1.5F)));
  EXPECT_THAT(steps[1].values,
              ElementsAre(Pair("f1, macro", 0.25F), Pair("top5", 0.9F)));
}

TEST(JobCurveTest, WhatIsNoReportIsAnError) {
  const v1::Job job = JobStartedAt(1);
  v1::JobReport report;
  for (const char* const json : {"", "{", "[]"}) {
    report.set_json(json);
    EXPECT_EQ(ReadJobCurve(job, report, TrainingClock(job, {})).status().code(),
              absl::StatusCode::kInternal)
        << json;
  }
  report.set_json("{}");
  EXPECT_THAT(ReadJobCurve(job, report, TrainingClock(job, {}))->points,
              IsEmpty());
}

// Of "123456789" every description of CRC-32C says 0xe3069283.
TEST(TensorboardFileTest, Checksum) {
  constexpr uint32_t kCrc = 0xe3069283;
  EXPECT_EQ(MaskedCrc32c("123456789"),
            ((kCrc >> 15) | (kCrc << 17)) + 0xa282ead8u);
}

}  // namespace
}  // namespace paceline
