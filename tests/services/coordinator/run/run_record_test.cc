#include "services/coordinator/run/run_record.h"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using Json = nlohmann::ordered_json;

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

PushCounted Counted(int64_t gap, int64_t staleness, uint32_t samples) {
  PushCounted counted{WorkerId{1}};
  counted.gap = gap;
  counted.staleness = staleness;
  counted.samples = samples;
  return counted;
}

v1::PushDone LossReport(double loss) {
  v1::PushDone report;
  report.set_loss(loss);
  report.set_push_bytes(100);
  report.set_pull_bytes(200);
  v1::PhaseSeconds& seconds = *report.mutable_seconds();
  seconds.set_load(0.125);
  seconds.set_compute(1);
  seconds.set_push(0.25);
  seconds.set_wait(0.5);
  seconds.set_pull(2);
  return report;
}

AccuracyPoint Point(double seconds, double accuracy) {
  AccuracyPoint point;
  point.seconds = seconds;
  point.version = 180;
  point.version_at_completion = 182;
  point.samples = 5760;
  point.accuracy = accuracy;
  point.loss = 0.9;
  return point;
}

v1::StopConditions Target(double accuracy) {
  v1::StopConditions stop;
  stop.set_target_accuracy(accuracy);
  return stop;
}

v1::JobProgress ProgressOf(const RunRecord& record, double seconds,
                           const TrainingView& view = {},
                           const std::map<WorkerId, std::string>& names = {}) {
  v1::JobProgress progress;
  record.Progress(view, names, At(seconds), progress);
  return progress;
}

// Every name in `wanted` is in `document`, with a value of the same kind.
void ExpectFields(const Json& document, const Json& wanted,
                  const std::string& where) {
  for (const auto& [name, value] : wanted.items()) {
    ASSERT_TRUE(document.contains(name)) << where << name;
    const Json& got = document[name];
    if (value.is_object()) {
      ExpectFields(got, value, absl::StrCat(where, name, "."));
    } else if (value.is_array()) {
      ASSERT_EQ(got.size(), 1u) << where << name;
      ExpectFields(got[0], value[0], absl::StrCat(where, name, "[0]."));
    } else {
      EXPECT_EQ(got.is_number(), value.is_number()) << where << name;
      EXPECT_EQ(got.is_string(), value.is_string()) << where << name;
    }
  }
}

// The document of issue 2: scripts read these names.
constexpr char kRun[] = R"({
  "paradigm": "dssp:lower=3,upper=15,mode=paper", "seconds": 31.2,
  "final_accuracy": 0.981, "seconds_to_target": 9.7, "samples": 180000,
  "pushes": 5625, "updates": 5625, "discarded": 0, "push_bytes": 1,
  "pull_bytes": 1,
  "accuracy": [{"seconds": 1.1, "version": 180, "samples": 5760,
                "accuracy": 0.71, "loss": 0.9}],
  "workers": [{"worker": "w0", "iterations": 1700, "samples": 54400,
    "seconds": {"load": 0.1, "compute": 30.0, "push": 0.4, "wait": 0.2,
                "pull": 0.4},
    "gap": {"p50": 1, "p99": 4, "max": 5},
    "staleness": {"p50": 3, "p99": 6, "max": 9}}]})";

TEST(RunRecordTest, TheResultHasTheNamesOfTheDocument) {
  RunRecord record("dssp:lower=3,upper=15,mode=paper", Target(0.8));
  record.Begin(At(10), absl::ZeroDuration(), 40, 60);
  record.Reported("w0", LossReport(2));
  record.Counted("w0", Counted(1, 3, 32), At(12.5));
  record.Evaluated(Point(1.1, 0.85));
  ExpectFields(record.Result(TrainingView()), Json::parse(kRun), "");
}

TEST(RunRecordTest, TheResultAddsUp) {
  RunRecord record("asp", Target(0.8));
  record.Begin(At(10), absl::ZeroDuration(), 40, 60);
  for (int i = 1; i <= 4; ++i) {
    record.Reported("w0", LossReport(2));
    record.Counted("w0", Counted(i, 2 * i, 32), At(10 + i));
  }
  record.Reported("w1", LossReport(2));
  record.Counted("w1", Counted(0, 0, 8), At(20));
  record.Evaluated(Point(3, 0.9));
  record.Evaluated(Point(1, 0.7));  // Came late; the points are sorted.
  TrainingView view;
  view.version = 5;
  view.samples_counted = 136;
  const Json result = record.Result(view);
  EXPECT_EQ(result["paradigm"], "asp");
  EXPECT_EQ(result["seconds"], 10);
  EXPECT_EQ(result["final_accuracy"], 0.9);
  EXPECT_DOUBLE_EQ(result["seconds_to_target"].get<double>(), 2);
  EXPECT_EQ(result["samples"], 136);
  EXPECT_EQ(result["pushes"], 5);
  EXPECT_EQ(result["updates"], 5);
  EXPECT_EQ(result["push_bytes"], 500);
  EXPECT_EQ(result["pull_bytes"], 1000);
  EXPECT_EQ(result["accuracy"][0]["seconds"], 1);
  const Json& worker = result["workers"][0];
  EXPECT_EQ(worker["worker"], "w0");
  EXPECT_EQ(worker["iterations"], 4);
  EXPECT_EQ(worker["samples"], 128);
  EXPECT_EQ(worker["seconds"], Json({{"load", 0.5},
                                     {"compute", 4.0},
                                     {"push", 1.0},
                                     {"wait", 2.0},
                                     {"pull", 8.0}}));
  EXPECT_EQ(worker["longest_wait_seconds"], 0.5);
  EXPECT_EQ(worker["gap"], Json({{"p50", 2}, {"p99", 4}, {"max", 4}}));
  EXPECT_EQ(worker["staleness"], Json({{"p50", 4}, {"p99", 8}, {"max", 8}}));
  EXPECT_EQ(result["workers"][1]["samples"], 8);
}

// A peer may say anything, and a NaN would stay in every sum.
TEST(RunRecordTest, WhatNoIterationCanHaveTakenIsNotAddedUp) {
  RunRecord record("asp", {});
  record.Begin(At(0), absl::ZeroDuration(), 40, 60);
  record.Reported("w0", LossReport(2));
  const Json before = record.Result(TrainingView());
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity(), -1.0, 86'401.0}) {
    v1::PushDone report = LossReport(2);
    report.set_push_bytes(0);
    report.set_pull_bytes(0);
    report.mutable_seconds()->set_wait(wrong);
    if (!std::isfinite(wrong)) report.set_loss(wrong);
    record.Reported("w0", report);
  }
  EXPECT_EQ(record.Result(TrainingView()), before);
  EXPECT_EQ(ProgressOf(record, 1).loss(), 2);
}

TEST(RunRecordTest, SaysNullForWhatIsNotKnown) {
  RunRecord never("bsp", Target(0.99));
  never.Evaluated(Point(1, 0.5));
  EXPECT_TRUE(never.Result(TrainingView())["seconds_to_target"].is_null());
  RunRecord without_target("bsp", {});
  without_target.Evaluated(Point(1, 0.5));
  EXPECT_TRUE(
      without_target.Result(TrainingView())["seconds_to_target"].is_null());
  const RunRecord nothing("bsp", Target(0.5));
  EXPECT_TRUE(nothing.Result(TrainingView())["final_accuracy"].is_null());
  EXPECT_EQ(nothing.SecondsAt(At(9)), 0);
}

TEST(RunRecordTest, CountsWhatWasDiscardedAndRefused) {
  RunRecord record("asp", {});
  v1::PushDone discarded = LossReport(0);
  discarded.set_discarded(true);
  record.Reported("w0", LossReport(4));
  record.Reported("w0", discarded);
  v1::PushDone refused = LossReport(4);
  refused.set_blocks_refused(3);
  record.Reported("w0", refused);
  const Json result = record.Result(TrainingView());
  EXPECT_EQ(result["discarded"], 1);
  EXPECT_EQ(result["refused_blocks"], 3);
  // The loss of a discarded push is no loss.
  EXPECT_EQ(ProgressOf(record, 0).loss(), 4);
}

TEST(RunRecordTest, ProgressShowsWhereEachWorkerStands) {
  RunRecord record("ssp:s=3", {});
  record.Begin(At(10), absl::ZeroDuration(), 40, 60);
  record.Granted("w0");
  record.Granted("w1");
  record.Reported("w1", LossReport(2));
  record.Counted("w1", Counted(2, 0, 32), At(11));
  TrainingView view;
  view.version = 7;
  view.samples_counted = 100;
  view.samples_total = 400;
  view.workers = {{WorkerId{1}, 3}, {WorkerId{2}, 5}};
  view.workers[1].straggler = true;
  view.workers[1].straggler_score = 2.5;
  const v1::JobProgress progress =
      ProgressOf(record, 12, view, {{WorkerId{1}, "w0"}, {WorkerId{2}, "w1"}});
  EXPECT_EQ(progress.seconds(), 2);
  EXPECT_EQ(progress.samples(), 100);
  EXPECT_EQ(progress.samples_total(), 400);
  EXPECT_EQ(progress.samples_per_second(), 16);  // As they were counted.
  EXPECT_EQ(progress.seconds_left(), 18.75);
  EXPECT_EQ(progress.version(), 7);
  EXPECT_EQ(progress.parameters(), 40);
  EXPECT_EQ(progress.train_samples(), 60);
  EXPECT_EQ(progress.loss(), 2);
  EXPECT_FALSE(progress.has_accuracy());
  ASSERT_EQ(progress.workers_size(), 2);
  EXPECT_EQ(progress.workers(0).worker(), "w0");
  EXPECT_EQ(progress.workers(0).state(), "computing");
  EXPECT_EQ(progress.workers(0).clock(), 3);
  EXPECT_EQ(progress.workers(0).gap(), 0);
  EXPECT_FALSE(progress.workers(0).straggler());
  EXPECT_EQ(progress.workers(1).state(), "waiting");
  EXPECT_EQ(progress.workers(1).clock(), 5);
  EXPECT_EQ(progress.workers(1).gap(), 2);
  EXPECT_EQ(progress.workers(1).iterations(), 1);
  EXPECT_EQ(progress.workers(1).samples(), 32);
  EXPECT_TRUE(progress.workers(1).straggler());
  EXPECT_EQ(progress.workers(1).straggler_score(), 2.5);
}

TEST(RunRecordTest, ProgressBeforeTheBeginningAndAfterALoss) {
  RunRecord record("bsp", {});
  const v1::JobProgress before = ProgressOf(record, 99);
  EXPECT_EQ(before.seconds(), 0);
  EXPECT_EQ(before.samples_per_second(), 0);
  EXPECT_FALSE(before.has_seconds_left());
  EXPECT_EQ(before.workers_size(), 0);
  record.Begin(At(1), absl::ZeroDuration(), 40, 60);
  record.Granted("w0");
  record.Lost("w0");
  EXPECT_EQ(ProgressOf(record, 2).workers(0).state(), "lost");
  // Its last push, which the servers had taken.
  record.Counted("w0", Counted(1, 0, 32), At(2));
  EXPECT_EQ(ProgressOf(record, 2).workers(0).state(), "lost");
  // One that comes back goes on in its row.
  record.Granted("w0");
  EXPECT_EQ(ProgressOf(record, 2).workers(0).state(), "computing");
}

// A switch, or a worker more, shows within half a minute; the time before it,
// or before a pause, does not weigh on what is said of now.
TEST(RunRecordTest, SpeedIsThatOfTheLastHalfMinute) {
  RunRecord record("asp", {});
  record.Begin(At(100), absl::Seconds(1000), 40, 60);
  TrainingView view;
  view.samples_total = 100'000;
  EXPECT_EQ(ProgressOf(record, 100, view).samples_per_second(), 0);
  double now = 100;
  const auto train = [&](int seconds, uint32_t samples) {
    for (int i = 0; i < 10 * seconds; ++i) {
      now += 0.1;
      record.Counted("w0", Counted(0, 0, samples), At(now));
      view.samples_counted += samples;
    }
    return ProgressOf(record, now, view);
  };
  EXPECT_NEAR(train(5, 10).samples_per_second(), 100, 3);
  EXPECT_NEAR(train(60, 10).samples_per_second(), 100, 1);
  EXPECT_NEAR(train(15, 30).samples_per_second(), 200, 10) << "half of it";
  const v1::JobProgress after = train(17, 30);
  EXPECT_NEAR(after.samples_per_second(), 300, 1);
  EXPECT_NEAR(after.seconds_left(),
              static_cast<double>(100'000 - after.samples()) / 300, 1);
  EXPECT_EQ(ProgressOf(record, now + 32, view).samples_per_second(), 0);
  EXPECT_FALSE(ProgressOf(record, now + 32, view).has_seconds_left());
}

// What is left is no longer than the job may still take.
TEST(RunRecordTest, TheTimeLimitBoundsWhatIsLeft) {
  v1::StopConditions stop;
  stop.set_seconds(5);
  RunRecord record("bsp", stop);
  record.Begin(At(10), absl::ZeroDuration(), 40, 60);
  TrainingView view;
  view.samples_counted = 100;
  view.samples_total = 400;
  EXPECT_EQ(ProgressOf(record, 12, view).seconds_left(), 3)
      << "known before anything is counted";
  record.Counted("w0", Counted(0, 0, 100), At(12));
  EXPECT_EQ(ProgressOf(record, 12, view).seconds_left(), 3);
  EXPECT_EQ(ProgressOf(record, 16, view).seconds_left(), 0);
  record.SetStop({});
  EXPECT_EQ(ProgressOf(record, 12, view).seconds_left(), 6);
  view.samples_counted = 400;
  EXPECT_FALSE(ProgressOf(record, 12, view).has_seconds_left());
}

TEST(RunRecordTest, CountsHowOftenAWorkerWasHeld) {
  RunRecord record("dssp", {});
  for (const DecisionKind kind :
       {DecisionKind::kColdStart, DecisionKind::kNotFastest,
        DecisionKind::kCaughtUp}) {
    record.Decided("w0", {kind});
  }
  record.Held("w0");
  record.Held("w0");
  const Json worker = record.Result(TrainingView())["workers"][0];
  EXPECT_EQ(worker["held"], 2);
  EXPECT_EQ(worker["held_not_fastest"], 1);
}

}  // namespace
}  // namespace paceline
