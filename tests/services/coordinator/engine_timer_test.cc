// The engine's timer: deadlines of the core come in time and wake nobody else.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "services/coordinator/engine.h"
#include "services/coordinator/policy/policy_spec.h"
#include "tests/services/coordinator/ledger_sink.h"
#include "tests/services/coordinator/manual_clock.h"

namespace paceline {
namespace {

constexpr WorkerId kA{1};
constexpr WorkerId kB{2};
constexpr absl::Duration kLong = absl::Minutes(1);

SyncOptions Options(absl::Duration lease) {
  SyncOptions options;
  options.train_samples = 1000;
  options.batch_size = 10;
  options.lease = lease;
  return options;
}

// With a clock that stands the timer looks again after one lease of real time.
TEST(EngineTimerTest, GivesUpWhoIsNotHeardForALease) {
  const absl::Duration lease = absl::Milliseconds(4);
  ManualClock clock;
  LedgerSink sink(2, Options(lease));
  Engine engine(&clock, Options(lease), *MakePolicy("asp"), &sink);
  engine.Start({kA, kB});
  clock.Advance(lease / 2);
  engine.Heard(kB);
  clock.Advance(lease * 3 / 4);
  const auto evicted = sink.evictions().Take(kLong);
  ASSERT_TRUE(evicted.ok());
  EXPECT_EQ(evicted->worker, kA);
  EXPECT_EQ(evicted->reason, LossReason::kLeaseEnded);
  const EngineView view = engine.View();
  ASSERT_EQ(view.workers.size(), 1u);
  EXPECT_EQ(view.workers[0].worker, kB);
}

TEST(EngineTimerTest, GivesUpWhoIsHeardButStuck) {
  const absl::Duration lease = absl::Milliseconds(4);
  ManualClock clock;
  LedgerSink sink(2, Options(lease));
  Engine engine(&clock, Options(lease), *MakePolicy("asp"), &sink);
  engine.Start({kA});
  // Without a second push a grant may be open for ten leases.
  for (int i = 0; i < 21; ++i) {
    clock.Advance(lease / 2);
    engine.Heard(kA);
  }
  const auto evicted = sink.evictions().Take(kLong);
  ASSERT_TRUE(evicted.ok());
  EXPECT_EQ(evicted->reason, LossReason::kStuck);
}

TEST(EngineTimerTest, RunsByTheRealClock) {
  const absl::Duration lease = absl::Milliseconds(5);
  LedgerSink sink(2, Options(lease));
  Engine engine(&Clock::Real(), Options(lease), *MakePolicy("bsp"), &sink);
  engine.Start({kA, kB});
  for (int i = 0; i < 2; ++i) {
    const auto evicted = sink.evictions().Take(kLong);
    ASSERT_TRUE(evicted.ok());
    EXPECT_EQ(evicted->reason, LossReason::kLeaseEnded);
  }
  EXPECT_TRUE(engine.View().workers.empty());
}

// What a WakesAfterAPush tells its test.
struct Signs {
  absl::Notification timer_looked;  // At the deadlines, once all have begun.
  absl::Notification ticked;
  std::atomic<int> ticks = 0;
};

// Wants a tick as soon as a worker has pushed, and none before.
class WakesAfterAPush final : public SyncPolicy {
 public:
  explicit WakesAfterAPush(Signs* signs) : signs_(signs) {}

  void Adopt(const Moment&, absl::Span<const AdoptedWorker> workers, RoundId,
             std::vector<Action>& actions) override {
    adopted_ = true;
    for (const AdoptedWorker& adopted : workers) {
      actions.push_back(Release{adopted.worker, PushPlan::Immediate()});
    }
  }
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>&) override {
    if (std::holds_alternative<PushDone>(event)) deadline_ = at.now;
    if (!std::holds_alternative<Tick>(event)) return;
    deadline_ = absl::InfiniteFuture();
    if (++signs_->ticks == 1) signs_->ticked.Notify();
  }
  absl::Time NextDeadline() const override {
    const bool by_timer = std::this_thread::get_id() != test_;
    if (adopted_ && by_timer && !signs_->timer_looked.HasBeenNotified()) {
      signs_->timer_looked.Notify();
    }
    return deadline_;
  }
  std::string Describe() const override { return "wakes"; }

 private:
  Signs* const signs_;
  const std::thread::id test_ = std::this_thread::get_id();
  bool adopted_ = false;
  absl::Time deadline_ = absl::InfiniteFuture();
};

TEST(EngineTimerTest, ANearerDeadlineWakesTheTimer) {
  const SyncOptions options = Options(absl::Hours(1));
  Signs signs;
  LedgerSink sink(2, options);
  ManualClock clock;
  Engine engine(&clock, options, std::make_unique<WakesAfterAPush>(&signs),
                &sink);
  engine.Start({kA});
  // It looks and falls asleep, for an hour, under one lock with the push.
  ASSERT_TRUE(signs.timer_looked.WaitForNotificationWithTimeout(kLong));
  EXPECT_TRUE(engine.PushDone(kA, {1, 10, 1}).ok());
  EXPECT_TRUE(signs.ticked.WaitForNotificationWithTimeout(kLong));
  // The deadline has moved away again: no second tick although time goes on.
  clock.Advance(absl::Minutes(30));
  engine.Heard(kA);
  EXPECT_EQ(signs.ticks.load(), 1);
}

TEST(EngineTimerTest, ItsDestructorDoesNotWaitForADeadline) {
  const SyncOptions options = Options(absl::Hours(1));
  for (int i = 0; i < 50; ++i) {
    LedgerSink sink(2, options);
    Engine engine(&Clock::Real(), options, *MakePolicy("ssp:s=3"), &sink);
    if (i % 2 == 0) engine.Start({kA, kB});
  }
}

}  // namespace
}  // namespace paceline
