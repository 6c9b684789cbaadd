// What the core tells a policy of its workers, beside who waits.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "tests/services/coordinator/sync/core/workers_and_times.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

// Lets everybody go on, and keeps what it is told.
class WatchingPolicy final : public SyncPolicy {
 public:
  struct Seen {
    absl::btree_set<WorkerId> stragglers;  // When it took over.
    std::vector<PushDone> pushes;
  };
  explicit WatchingPolicy(Seen* seen) : seen_(*seen) {}

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    seen_.stragglers = view.stragglers();
    for (const WorkerId worker : view.waiting()) {
      actions.push_back(Release{worker, PushPlan::Immediate()});
    }
  }
  void Apply(const SyncView&, const Event& event,
             std::vector<Action>& actions) override {
    const auto* const done = std::get_if<PushDone>(&event);
    if (done == nullptr) return;
    seen_.pushes.push_back(*done);
    actions.push_back(Release{done->worker, PushPlan::Immediate()});
  }
  std::string Describe() const override { return "watching"; }

 private:
  Seen& seen_;
};

SyncOptions Options(uint32_t train_samples) {
  SyncOptions options;
  options.train_samples = train_samples;
  options.batch_size = 8;
  return options;
}

class SyncCoreSignalsTest : public testing::Test {
 protected:
  void Start(uint32_t train_samples, std::unique_ptr<SyncPolicy> policy) {
    core_ =
        std::make_unique<SyncCore>(Options(train_samples), std::move(policy));
    core_->Start(At(0), {{kA}, {kB}, {kC}}, outputs_);
  }

  void Push(double seconds, WorkerId worker, Iteration iteration,
            uint32_t samples, bool discarded = false,
            std::optional<double> loss = std::nullopt) {
    EXPECT_TRUE(core_
                    ->PushDone(At(seconds), worker,
                               {.iteration = iteration,
                                .samples = samples,
                                .discarded = discarded,
                                .loss = loss},
                               outputs_)
                    .ok());
  }

  // Two are done every second, the third every fifth: its second push, the last
  // one, raises its flag.
  void MakeStraggler() {
    for (int second = 1; second <= 10; ++second) {
      Push(second, kA, second, 8);
      Push(second, kB, second, 8);
      if (second % 5 == 0) Push(second, kC, second / 5, 8);
    }
  }

  WatchingPolicy::Seen seen_;
  std::unique_ptr<SyncCore> core_;
  std::vector<Output> outputs_;
};

TEST_F(SyncCoreSignalsTest, APushSaysHowMuchOfAUsualRangeItCovers) {
  Start(26, std::make_unique<WatchingPolicy>(&seen_));
  Push(1, kA, 1, 8);                      // A whole one; gets the last two.
  Push(2, kB, 1, 4);                      // A half; gets its own other half.
  Push(3, kA, 2, 2);                      // A quarter, all that there was.
  Push(4, kC, 1, 8, /*discarded=*/true);  // It broke off.
  ASSERT_EQ(seen_.pushes.size(), 4u);
  EXPECT_THAT(seen_.pushes[0].share, DoubleEq(1));
  EXPECT_THAT(seen_.pushes[1].share, DoubleEq(0.5));
  EXPECT_THAT(seen_.pushes[2].share, DoubleEq(0.25));
  EXPECT_THAT(seen_.pushes[3].share, DoubleEq(0));
  EXPECT_TRUE(seen_.pushes[2].taken);
  EXPECT_FALSE(seen_.pushes[3].taken);
}

TEST_F(SyncCoreSignalsTest, APushThatIsTakenSaysItsLoss) {
  Start(100, std::make_unique<WatchingPolicy>(&seen_));
  Push(1, kA, 1, 8, /*discarded=*/false, 0.5);
  Push(2, kB, 1, 8, /*discarded=*/true, 0.25);
  Push(3, kC, 1, 8);
  ASSERT_EQ(seen_.pushes.size(), 3u);
  EXPECT_EQ(seen_.pushes[0].loss, 0.5);
  EXPECT_EQ(seen_.pushes[1].loss, std::nullopt);
  EXPECT_EQ(seen_.pushes[2].loss, std::nullopt);
}

TEST_F(SyncCoreSignalsTest, WhoTakesOverKnowsTheStragglers) {
  Start(10'000, *MakePolicy("asp"));
  MakeStraggler();
  core_->Switch(At(11), {std::make_unique<WatchingPolicy>(&seen_), "a test"},
                outputs_);
  EXPECT_THAT(seen_.stragglers, ElementsAre(kC));
}

// Else it would wait for the straggler under its first paradigm for good.
TEST_F(SyncCoreSignalsTest, SyncSwitchLeavesForAStragglerThatItFinds) {
  Start(10'000, *MakePolicy("asp"));
  MakeStraggler();
  core_->Switch(At(11),
                {*MakePolicy("syncswitch:at=0.9,straggler=leave"), "a test"},
                outputs_);
  Push(12, kA, 11, 8);
  Push(12, kB, 11, 8);
  outputs_.clear();
  Push(13, kA, 12, 8);
  // Released at once, under ASP.
  bool released = false;
  for (const Output& output : outputs_) {
    const auto* const grant = std::get_if<Grant>(&output);
    released = released || (grant != nullptr && grant->worker == kA &&
                            grant->plan == PushPlan::Immediate());
  }
  EXPECT_TRUE(released);
}

}  // namespace
}  // namespace paceline
