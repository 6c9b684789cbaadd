// Real threads around a course: workers that push and die, servers that answer,
// people who look. The books must be exact, and ThreadSanitizer watches.

#include "services/coordinator/run/driver/run_driver.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/mailbox.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/run/course/run_checker.h"
#include "tests/services/coordinator/run/manual_clock.h"

namespace paceline {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr uint32_t kBlocks = 3;  // Of each of the two servers.

WorkerModel Model() { return {{{"weights", {10, 4}, 40}}, 1001}; }

CourseOptions Options(const std::string& paradigm) {
  CourseOptions options;
  options.lease = absl::Hours(1);
  options.servers = {{"s0"}, {"s1"}};
  options.paradigm = *ParseParadigm(paradigm);
  options.batch_size = 8;
  options.evaluate = false;
  return options;
}

RunSettings Settings() {
  RunSettings settings;
  settings.stop.epochs = 3;
  return settings;
}

// Hands grants and commands on to the threads that play workers and servers,
// and books everything. Perform() has no lock of its own on purpose: the driver
// promises to call it with its lock held, and ThreadSanitizer sees whether it
// does.
class Books : public RunDriver {
 public:
  // Of so many workers.
  Books(const Clock* clock, const CourseOptions& options, uint32_t workers)
      : RunDriver(clock, clock->Now(), options, Settings()) {
    checker_.Begin(Model().train_samples, {}, false, false);
    for (uint32_t worker = 1; worker <= workers; ++worker) grants_[worker];
    SetFrozenAfter(absl::Hours(12));
    StartThreads();
  }
  ~Books() override { StopThreads(); }

  using RunDriver::Step;

  absl::Mutex& mu() const ABSL_LOCK_RETURNED(mu_) { return mu_; }
  const RunCourse& course() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return course_;
  }
  void TellNow(Deed deed) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    Tell(std::move(deed));
  }
  // Returns when all that was to be told is told.
  void AwaitTold() {
    absl::Notification told;
    TellNow([&told] { told.Notify(); });
    EXPECT_TRUE(told.WaitForNotificationWithTimeout(kLong));
  }
  bool IsBacklogged() const ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return backlogged();
  }

  void Perform(absl::Time /*now*/, absl::Span<const RunOutput> outputs) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (const RunOutput& output : outputs) PerformOne(output);
  }

  RunChecker checker_;
  std::map<uint32_t, Mailbox<Grant>> grants_;
  Mailbox<NumberedCommand> commands_;
  Mailbox<Evicted> evictions_;
  std::atomic<int> sent_ = 0;
  uint64_t sequence_ = 0;  // Of the sends, which are done one at a time.
  absl::Notification over_;

 private:
  void PerformOne(const RunOutput& output) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    checker_.Observe(output);
    if (const auto* grant = std::get_if<Grant>(&output)) {
      Send([this, grant = *grant] {
        ++sent_;
        grants_.at(ToNumber(grant.worker)).Put(grant);
      });
    } else if (const auto* command = std::get_if<NumberedCommand>(&output)) {
      ++commanded_;
      Send([this, command = *command] {
        // One at a time and in order, or these would not ascend.
        EXPECT_EQ(command.sequence, ++sequence_);
        commands_.Put(command);
      });
    } else if (std::holds_alternative<AdmitParameters>(output)) {
      Tell(
          [this] { Step(ParametersAdmitted{absl::OkStatus()}).IgnoreError(); });
    } else if (const auto* begin = std::get_if<BeginWork>(&output)) {
      if (!begin->initialize) return;
      Tell([this, worker = begin->worker] {
        Step(WeightsInitialized{worker}).IgnoreError();
      });
    } else if (const auto* evicted = std::get_if<Evicted>(&output)) {
      evictions_.Put(*evicted);
    } else if (std::holds_alternative<RunEnded>(output)) {
      TellOnceSent([this, commanded = commanded_] {
        EXPECT_EQ(sequence_, commanded);
        commands_.Close(absl::OkStatus());
        for (auto& [worker, grants] : grants_) grants.Close(absl::OkStatus());
        over_.Notify();
      });
    }
  }

  uint64_t commanded_ ABSL_GUARDED_BY(mu_) = 0;
};

// A clock on which no deadline wakes anybody.
class LateClock : public ManualClock {
 public:
  void Wait(absl::CondVar& condition, absl::Mutex& mu,
            absl::Time /*deadline*/) const override {
    condition.Wait(&mu);
  }
};

class RunDriverTest : public ::testing::TestWithParam<const char*> {
 protected:
  void Make(const Clock* clock, const CourseOptions& options,
            uint32_t workers) {
    driver_ = std::make_unique<Books>(clock, options, workers);
    servers_ = std::thread([this] { AnswerCommands(); });
    EXPECT_TRUE(driver_->Step(FilesOpened{}).ok());
  }

  void TearDown() override {
    driver_->Step(CancelRun{absl::CancelledError("the test is over")})
        .IgnoreError();
    EXPECT_TRUE(driver_->over_.WaitForNotificationWithTimeout(kLong));
    servers_.join();
    EXPECT_EQ(driver_->checker_.violation(), "");
  }

  // False if the run has ended by then.
  bool Come(uint32_t worker) {
    MemberCame came;
    came.worker = WorkerId{worker};
    came.name = absl::StrCat("w", worker);
    came.incarnation = worker;
    const absl::Status status = driver_->Step(came);
    if (absl::IsFailedPrecondition(status)) return false;
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(driver_->Step(MemberReady{WorkerId{worker}, Model()}).ok());
    return true;
  }
  absl::Status Push(const Grant& grant, uint32_t samples) {
    return driver_->Step(
        WorkerPushed{grant.worker, {grant.iteration, samples, 2 * kBlocks}});
  }

  void AnswerCommands() {
    while (true) {
      const auto command = driver_->commands_.Take(kLong);
      if (!command.ok()) return;
      for (int server = 0; server < 2; ++server) {
        CommandDone done;
        done.shard = server;
        done.sequence = command->sequence;
        if (std::holds_alternative<FenceIncarnation>(command->command)) {
          done.fence = FenceAnswer{server, 0, 0, kBlocks, 0};
        }
        driver_->Step(done).IgnoreError();
      }
    }
  }

  ManualClock clock_;  // For those who do not take the real one.
  LateClock late_clock_;
  std::unique_ptr<Books> driver_;
  std::thread servers_;
};

TEST_P(RunDriverTest, TheBooksAreExactWhateverTheThreads) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kLives = 5;  // Of each thread's worker.
  Make(&Clock::Real(), Options(GetParam()), kThreads * kLives);
  std::atomic<bool> over = false;
  std::thread watcher([&] {
    // Reads while the others write, as the progress reports do.
    int64_t samples = 0;
    while (!over) {
      absl::MutexLock lock(&driver_->mu());
      const SyncCore* const core = driver_->course().core();
      if (core == nullptr) continue;
      EXPECT_GE(core->samples_counted(), samples);
      samples = core->samples_counted();
    }
  });
  std::vector<std::thread> threads;
  for (uint32_t thread = 1; thread <= kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      Rng rng(thread);
      for (uint32_t life = 0; life < kLives; ++life) {
        const uint32_t worker = thread + life * kThreads;
        if (!Come(worker)) return;
        while (true) {
          const auto grant = driver_->grants_.at(worker).Take(kLong);
          if (!grant.ok()) return;  // The run has ended.
          // The last one stays, so that the job can end.
          if (life + 1 < kLives && rng.Chance(1, 10)) {
            driver_
                ->Step(MemberGone{WorkerId{worker}, LossReason::kStreamBroken,
                                  absl::OkStatus()})
                .IgnoreError();
            break;
          }
          // Now and then the tail of the range is not used.
          const uint32_t size = grant->range.size();
          const bool part = size > 1 && rng.Chance(1, 7);
          const absl::Status pushed = Push(*grant, part ? size - 1 : size);
          EXPECT_TRUE(pushed.ok()) << pushed;
        }
      }
    });
  }
  EXPECT_TRUE(driver_->over_.WaitForNotificationWithTimeout(kLong));
  for (std::thread& thread : threads) thread.join();
  over = true;
  watcher.join();
  EXPECT_TRUE(driver_->checker_.outcome().status.ok());
  EXPECT_FALSE(driver_->checker_.outcome().paused);
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, RunDriverTest,
    ::testing::Values("bsp", "asp", "ssp:s=3", "dssp:lower=3,upper=15",
                      "dssp:lower=1,upper=4,mode=bounded,fastest=within:2"));

class RunDriverTimerTest : public RunDriverTest {};
INSTANTIATE_TEST_SUITE_P(Asp, RunDriverTimerTest, ::testing::Values("asp"));

TEST_P(RunDriverTimerTest, GivesUpWhoIsNotHeardForALease) {
  CourseOptions options = Options("asp");
  options.lease = absl::Seconds(10);
  Make(&clock_, options, 2);
  EXPECT_TRUE(Come(1));
  EXPECT_TRUE(Come(2));
  EXPECT_TRUE(driver_->grants_.at(1).Take(kLong).ok());
  clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(driver_->Step(MemberHeard{WorkerId{2}}).ok());
  clock_.Advance(absl::Seconds(6));
  const auto evicted = driver_->evictions_.Take(kLong);
  ASSERT_TRUE(evicted.ok());
  EXPECT_EQ(evicted->worker, WorkerId{1});
  EXPECT_EQ(evicted->reason, LossReason::kLeaseEnded);
}

TEST_P(RunDriverTimerTest, RunsByTheRealClock) {
  CourseOptions options = Options("asp");
  options.lease = absl::Seconds(1);
  Make(&Clock::Real(), options, 1);
  EXPECT_TRUE(Come(1));
  const auto evicted = driver_->evictions_.Take(kLong);
  ASSERT_TRUE(evicted.ok());
  EXPECT_EQ(evicted->reason, LossReason::kLeaseEnded);
}

TEST_P(RunDriverTimerTest, ItsDestructorDoesNotWaitForADeadline) {
  Make(&Clock::Real(), Options("asp"), 1);
  for (int i = 0; i < 50; ++i) {
    Books driver(&Clock::Real(), Options("asp"), 1);
  }
}

TEST_P(RunDriverTimerTest, ALateTimerLeavesNoDeadlineBehind) {
  CourseOptions options = Options("asp");
  options.lease = absl::Seconds(10);
  Make(&late_clock_, options, 3);
  for (const uint32_t worker : {1, 2, 3}) EXPECT_TRUE(Come(worker));
  for (const uint32_t worker : {1, 2, 3}) {
    EXPECT_TRUE(driver_->grants_.at(worker).Take(kLong).ok());
  }
  late_clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(driver_->Step(MemberHeard{WorkerId{2}}).ok());
  late_clock_.Advance(absl::Seconds(6));
  // Two leases are over, and it was to be told how far the run has come.
  EXPECT_TRUE(driver_->Step(MemberHeard{WorkerId{2}}).ok());
  absl::MutexLock lock(&driver_->mu());
  EXPECT_EQ(driver_->course().core()->Members(),
            std::vector<WorkerId>{WorkerId{2}});
  EXPECT_GT(driver_->course().NextDeadline(), late_clock_.Now());
}

// The process was stopped for a day, or its machine was.
TEST_P(RunDriverTimerTest, TimeInWhichItDidNotRunCountsAgainstNobody) {
  CourseOptions options = Options("asp");
  options.lease = absl::Seconds(10);
  Make(&late_clock_, options, 2);
  for (const uint32_t worker : {1, 2}) EXPECT_TRUE(Come(worker));
  for (const uint32_t worker : {1, 2}) {
    EXPECT_TRUE(driver_->grants_.at(worker).Take(kLong).ok());
  }
  late_clock_.Advance(absl::Hours(24));
  EXPECT_TRUE(driver_->Step(TimePassed{}).ok());
  {
    absl::MutexLock lock(&driver_->mu());
    EXPECT_EQ(driver_->course().core()->member_count(), 2u);
  }
  // Then leases go on.
  late_clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(driver_->Step(MemberHeard{WorkerId{2}}).ok());
  late_clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(driver_->Step(MemberHeard{WorkerId{2}}).ok());
  absl::MutexLock lock(&driver_->mu());
  EXPECT_EQ(driver_->course().core()->Members(),
            std::vector<WorkerId>{WorkerId{2}});
}

// A log that nobody reads must neither hold up grants nor cost a lease.
TEST_P(RunDriverTimerTest, WhatIsToldSlowlyHoldsNobodyUp) {
  Make(&Clock::Real(), Options("asp"), 1);
  absl::Notification told;
  EXPECT_TRUE(Come(1));
  Grant grant = *driver_->grants_.at(1).Take(kLong);
  driver_->TellNow([&] { told.WaitForNotificationWithTimeout(kLong); });
  for (int push = 0; push < 20; ++push) {
    EXPECT_TRUE(Push(grant, grant.range.size()).ok());
    const auto next = driver_->grants_.at(1).Take(kLong);
    ASSERT_TRUE(next.ok()) << next.status();
    grant = *next;
  }
  EXPECT_FALSE(told.HasBeenNotified());
  told.Notify();
  driver_->AwaitTold();
}

// So that what waits for a log that hangs does not grow for ever.
TEST_P(RunDriverTimerTest, SaysWhenTooMuchWaitsToBeTold) {
  Make(&Clock::Real(), Options("asp"), 1);
  absl::Notification told;
  driver_->TellNow([&] { told.WaitForNotificationWithTimeout(kLong); });
  EXPECT_FALSE(driver_->IsBacklogged());
  std::atomic<int> others = 0;
  for (int i = 0; i < 1'001; ++i) driver_->TellNow([&] { ++others; });
  EXPECT_TRUE(driver_->IsBacklogged());
  told.Notify();
  // All of it is told, and then there is room again.
  driver_->AwaitTold();
  EXPECT_EQ(others, 1'001);
  EXPECT_FALSE(driver_->IsBacklogged());
}

// Records one letter for each step, and sends one deed.
class Journaled : public RunDriver {
 public:
  explicit Journaled(bool at_once)
      : RunDriver(&Clock::Real(), Clock::Real().Now(), Options("asp"),
                  Settings()) {
    SetWriteAhead([this, at_once](absl::string_view records, Deed safe) {
      EXPECT_EQ(sent_, static_cast<int>(written_.size()));
      absl::StrAppend(&written_, records);
      safe_ = std::move(safe);
      return at_once;
    });
    StartThreads();
  }
  ~Journaled() override { StopThreads(); }

  void StepOnce() {
    Step(
        TimePassed{}, [] {},
        [this](absl::Time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
          Record("x");
          Send([this, number = ++recorded_] {
            EXPECT_GE(static_cast<int>(written_.size()), number);
            ++sent_;
          });
        })
        .IgnoreError();
  }
  void Perform(absl::Time, absl::Span<const RunOutput>) override {}

  std::string written_;
  Deed safe_;
  int sent_ = 0;

 private:
  int recorded_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(RunDriverJournalTest, NothingLeavesBeforeItIsWrittenDown) {
  Journaled driver(/*at_once=*/true);
  for (int i = 1; i <= 3; ++i) {
    driver.StepOnce();
    EXPECT_EQ(driver.sent_, i);
  }
}

// A standby is to have it first.
TEST(RunDriverJournalTest, NothingLeavesBeforeItIsSafe) {
  Journaled driver(/*at_once=*/false);
  driver.StepOnce();
  driver.StepOnce();
  EXPECT_EQ(driver.written_, "x");
  EXPECT_EQ(driver.sent_, 0);
  std::exchange(driver.safe_, nullptr)();
  EXPECT_EQ(driver.written_, "xx");
  EXPECT_EQ(driver.sent_, 1);
  std::exchange(driver.safe_, nullptr)();
  EXPECT_EQ(driver.sent_, 2);
}

}  // namespace
}  // namespace paceline
