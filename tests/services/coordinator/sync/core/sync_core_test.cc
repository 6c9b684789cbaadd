#include "services/coordinator/sync/core/sync_core.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/core/output_text.h"
#include "tests/services/coordinator/sync/core/workers_and_times.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Releases into round 7 whoever asks for it, and closes nothing. Wakes at a
// deadline to report.
class ForgetfulPolicy final : public SyncPolicy {
 public:
  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    for (const WorkerId worker : view.waiting()) {
      actions.push_back(Release{worker, PushPlan::Round(RoundId{7})});
    }
  }
  void Apply(const SyncView&, const Event& event,
             std::vector<Action>& actions) override {
    if (!std::holds_alternative<Tick>(event)) return;
    deadline_ = absl::InfiniteFuture();
    actions.push_back(Report{{DecisionKind::kCapped, kA, 1, 2}});
  }
  absl::Time NextDeadline() const override { return deadline_; }
  std::string Describe() const override { return "forgetful"; }

 private:
  absl::Time deadline_ = At(4);
};

// Releases the same worker twice.
class DoublePolicy final : public SyncPolicy {
 public:
  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    const WorkerId worker = *view.waiting().begin();
    actions.assign(2, Release{worker, PushPlan::Immediate()});
  }
  void Apply(const SyncView&, const Event&, std::vector<Action>&) override {}
  std::string Describe() const override { return "double"; }
};

// Releases all once nobody computes.
class LockstepPolicy final : public SyncPolicy {
 public:
  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    for (const WorkerId worker : view.waiting()) {
      actions.push_back(Release{worker, PushPlan::Immediate()});
    }
  }
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    if (std::holds_alternative<PushDone>(event) && view.computing() == 0) {
      Adopt(view, actions);
    }
  }
  std::string Describe() const override { return "lockstep"; }
};

SyncOptions TwoRanges() {
  SyncOptions options;
  options.train_samples = 8;
  options.batch_size = 4;
  options.schedule = RateSchedule(0.5);
  return options;
}

PushReport Of(uint32_t samples) {
  PushReport report;
  report.iteration = 1;
  report.samples = samples;
  return report;
}

class SyncCoreTest : public testing::Test {
 protected:
  SyncCoreTest() : core_(TwoRanges(), std::make_unique<ForgetfulPolicy>()) {
    core_.Start(At(0), {{kA}, {kB}}, outputs_);
  }

  std::vector<std::string> Take() {
    std::vector<std::string> texts;
    for (const Output& output : std::exchange(outputs_, {})) {
      texts.push_back(ToText(output));
    }
    return texts;
  }

  SyncCore core_;
  std::vector<Output> outputs_;
};

TEST_F(SyncCoreTest, DrainsAtTheEndWhatThePolicyForgot) {
  ASSERT_TRUE(core_.PushDone(At(1), kA, Of(4), outputs_).ok());
  Take();
  ASSERT_TRUE(core_.PushDone(At(1), kB, Of(4), outputs_).ok());
  EXPECT_THAT(Take(),
              ElementsAre("push w1: 4 samples, gap 0, staleness 0, version 0",
                          "close 1: round 7 at 0.5",
                          "last snapshot 1: version 1, samples 8, closing 1",
                          "finished"));
  EXPECT_TRUE(core_.finished());
  EXPECT_EQ(core_.NextDeadline(), absl::InfiniteFuture());
}

TEST(SyncCorePaceTest, AWorkerThatBeganBeforeItsGrantIsNoFaster) {
  for (const bool says : {false, true}) {
    SyncOptions options = TwoRanges();
    options.train_samples = 800;
    SyncCore core(options, std::make_unique<LockstepPolicy>());
    std::vector<Output> outputs;
    core.Start(At(0), {{kA}, {kB}}, outputs);
    // Each takes two seconds, and the second one begins a second early.
    for (int64_t iteration = 1; iteration <= 10; ++iteration) {
      const int granted = 2 * static_cast<int>(iteration - 1);
      PushReport report = Of(4);
      report.iteration = iteration;
      report.worked = says ? absl::Seconds(2) : absl::ZeroDuration();
      ASSERT_TRUE(core.PushDone(At(granted + 1), kB, report, outputs).ok());
      ASSERT_TRUE(core.PushDone(At(granted + 2), kA, report, outputs).ok());
    }
    EXPECT_EQ(core.ScoreOf(kA) == core.ScoreOf(kB), says);
  }
}

TEST_F(SyncCoreTest, WakesThePolicyAtItsDeadline) {
  Take();
  EXPECT_EQ(core_.NextDeadline(), At(4));
  core_.Tick(At(3), outputs_);
  EXPECT_THAT(Take(), IsEmpty());
  core_.Tick(At(4), outputs_);
  EXPECT_THAT(Take(),
              ElementsAre("w0: gap 1 exceeds the upper bound 2: waits"));
  EXPECT_EQ(core_.NextDeadline(), At(10));
}

TEST(SyncCoreDeathTest, OnlyWhoWaitsIsReleased) {
  SyncCore core(TwoRanges(), std::make_unique<DoublePolicy>());
  std::vector<Output> outputs;
  EXPECT_DEATH(core.Start(At(0), {{kA}}, outputs), "CHECK");
}

}  // namespace
}  // namespace paceline
