#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "services/coordinator/run/wire.h"

namespace paceline {
namespace {

v1::JobSpec Spec() {
  v1::JobSpec spec;
  spec.set_model("mlp");
  spec.set_data("synthetic:tiny");
  spec.set_learning_rate(0.5);
  spec.set_schedule("step:at=0.5,factor=0.1");
  spec.set_batch_size(8);
  spec.set_batching("balanced");
  spec.mutable_stop()->set_epochs(3);
  for (const int64_t samples : {100, 150, 250}) {
    v1::PlannedSwitch& planned = *spec.add_switches();
    planned.set_samples(samples);
    planned.set_paradigm("asp");
  }
  return spec;
}

SyncOptions OptionsOf(const JobPlan& plan, const SamplePosition& start) {
  CourseOptions options = ToCourseOptions(plan);
  options.servers = {{"s0"}};
  RunStart from;
  from.position = start;
  return SyncOptionsOf(options, ToRunSettings(plan), from, 100);
}

TEST(RunOptionsTest, AreWhatThePlanSays) {
  const JobPlan plan = *ParseJob(Spec());
  const SyncOptions options = OptionsOf(plan, {});
  EXPECT_EQ(options.train_samples, 100u);
  EXPECT_EQ(options.max_samples, 300);
  EXPECT_EQ(options.batch_size, 8u);
  EXPECT_EQ(options.batching, Batching::kBalanced);
  EXPECT_EQ(options.eval_every, 5);
  EXPECT_EQ(options.schedule.RateAt(149, 0), 0.5);
  EXPECT_DOUBLE_EQ(options.schedule.RateAt(150, 0), 0.05);
  EXPECT_EQ(options.switches.size(), 3);
}

TEST(RunOptionsTest, ARateFollowsTheNoiseByAdaScaleAlone) {
  for (const char* strength : {"linear", "sqrt", "constant", "adascale"}) {
    v1::JobSpec spec = Spec();
    spec.set_round_strength(strength);
    EXPECT_EQ(OptionsOf(*ParseJob(spec), {}).ada_scale,
              std::string(strength) == "adascale");
  }
}

TEST(RunOptionsTest, AScheduleMayCountUpdatesOfFullBatches) {
  v1::JobSpec spec = Spec();
  spec.set_schedule("step:at=0.5,factor=0.1,count=updates");
  const SyncOptions options = OptionsOf(*ParseJob(spec), {});
  // 300 samples are 37.5 batches of 8.
  EXPECT_EQ(options.schedule.RateAt(299, 18), 0.5);
  EXPECT_DOUBLE_EQ(options.schedule.RateAt(0, 19), 0.05);
}

TEST(RunOptionsTest, SettingsAreWhatTheSpecSays) {
  v1::JobSpec spec = Spec();
  spec.mutable_workers()->set_min(3);
  v1::StopConditions& stop = *spec.mutable_stop();
  stop.set_samples(70);
  stop.set_seconds(5);
  stop.set_target_accuracy(0.75);
  stop.set_at_target(true);
  spec.mutable_checkpoints()->mutable_interval()->set_seconds(30);
  const RunSettings settings = ToRunSettings(*ParseJob(spec));
  EXPECT_EQ(settings.learning_rate, 0.5);
  EXPECT_EQ(settings.workers_min, 3u);
  EXPECT_EQ(settings.stop.epochs, 3);
  EXPECT_EQ(settings.stop.samples, 70);
  EXPECT_EQ(settings.stop.seconds, 5);
  EXPECT_EQ(settings.stop.target_accuracy, 0.75);
  EXPECT_TRUE(settings.stop.at_target);
  EXPECT_EQ(settings.checkpoint_interval, absl::Seconds(30));
}

// A checkpoint's job has made the switches of before: its paradigm is theirs.
TEST(RunOptionsTest, ALaterStartLeavesOutTheSwitchesThatWereMade) {
  const JobPlan plan = *ParseJob(Spec());
  SamplePosition start;
  start.next_epoch = 1;
  start.next_begin = 50;
  const SyncOptions options = OptionsOf(plan, start);
  ASSERT_EQ(options.switches.size(), 1);
  EXPECT_EQ(options.switches[0].samples, 250);
  EXPECT_EQ(options.start.next_begin, 50u);
}

std::vector<AccuracyPoint> Curve(const std::vector<double>& accuracies) {
  std::vector<AccuracyPoint> curve;
  for (const double accuracy : accuracies) {
    AccuracyPoint point;
    point.seconds = static_cast<double>(curve.size());
    point.accuracy = accuracy;
    point.loss = 1 - accuracy;
    curve.push_back(point);
  }
  return curve;
}

TEST(RunOptionsTest, TwoEvaluationsInARowAtTheTargetStopTheJob) {
  StopConditions stop;
  stop.target_accuracy = 0.75;
  EXPECT_FALSE(ReachedTarget(stop, Curve({0.75, 0.75})).has_value())
      << "only measured";
  stop.at_target = true;
  EXPECT_FALSE(ReachedTarget(stop, Curve({})).has_value());
  EXPECT_FALSE(ReachedTarget(stop, Curve({0.9})).has_value());
  EXPECT_FALSE(ReachedTarget(stop, Curve({0.9, 0.5, 0.75})).has_value());
  EXPECT_TRUE(ReachedTarget(stop, Curve({0.9, 0.5, 0.75, 0.75})).has_value());
}

TEST(RunOptionsTest, ALossCanBeTheTarget) {
  StopConditions stop;
  stop.target_loss = 0.25;
  stop.at_target = true;
  EXPECT_FALSE(ReachedTarget(stop, Curve({0.75})).has_value());
  EXPECT_TRUE(ReachedTarget(stop, Curve({0.75, 0.75})).has_value());
  stop.target_loss = 0.24;
  EXPECT_FALSE(ReachedTarget(stop, Curve({0.75, 0.75})).has_value());
}

TEST(RunOptionsTest, AnyMetricCanBeTheTarget) {
  v1::JobSpec spec = Spec();
  spec.mutable_stop()->set_at_target(true);
  v1::MetricTarget& target = *spec.mutable_stop()->mutable_target();
  target.set_metric("perplexity");
  target.set_value(20);
  target.set_direction(v1::MetricTarget::AT_MOST);
  spec.mutable_stop()->clear_target_accuracy();
  const StopConditions stop = ToRunSettings(*ParseJob(spec)).stop;
  ASSERT_TRUE(stop.target.has_value());
  EXPECT_EQ(FormatMetricTarget(*stop.target), "perplexity<=20");
  std::vector<AccuracyPoint> curve = Curve({0.1, 0.2, 0.3});
  curve[0].metrics["perplexity"] = 25;
  curve[1].metrics["perplexity"] = 20;
  EXPECT_FALSE(ReachedTarget(stop, curve).has_value());
  curve[2].metrics["perplexity"] = 19.5;
  EXPECT_EQ(ReachedTarget(stop, curve), stop.target);
}

// A checkpoint is not the only one to say where a run begins: a journal does.
TEST(RunOptionsTest, APositionFitsTheDataWhateverElseIsPrescribed) {
  WorkerModel model;
  model.train_samples = 100;
  model.tensors = {{.name = "w", .shape = {3}, .size = 3}};
  RunStart start;
  EXPECT_TRUE(FitsStart(model, start).ok());
  start.position.next_begin = 100;
  EXPECT_TRUE(absl::IsInvalidArgument(FitsStart(model, start)));
  start.tensors = model.tensors;
  start.weights_only = true;
  EXPECT_TRUE(absl::IsInvalidArgument(FitsStart(model, start)));
  start.position.next_begin = 99;
  EXPECT_TRUE(FitsStart(model, start).ok());
}

}  // namespace
}  // namespace paceline
