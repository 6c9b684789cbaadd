#include "services/coordinator/run/driver/run_driver.h"

#include <utility>

#include "common/check.h"

namespace paceline {
namespace {

// A stream's thread that sends for others as well goes back to its own stream
// after so many batches; the driver's thread sends the rest.
constexpr int kMostBatches = 16;

// Deadlines that one call sees to, so that none can hold the lock for ever; the
// timer sees to the rest.
constexpr int kMostDeadlines = 16;

// Far more than a run tells in a second.
constexpr size_t kBacklog = 1'000;

// Longer than what is left to tell takes, unless a log, a disk or the store
// hangs. Then the process could not stop in order either way.
constexpr absl::Duration kStopLimit = absl::Minutes(5);

}  // namespace

RunDriver::RunDriver(const Clock* clock, absl::Time began,
                     const CourseOptions& options, const RunSettings& settings)
    : clock_(clock), course_(options, settings, began) {}

RunDriver::~RunDriver() { CHECK(!timer_.joinable() && !teller_.joinable()); }

void RunDriver::StartThreads() {
  timer_ = std::thread([this] { RunTimer(); });
  teller_ = std::thread([this] { RunTells(); });
}

void RunDriver::StopThreads() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    timer_moved_.Signal();
    something_to_tell_.Signal();
    CHECK(mu_.AwaitWithTimeout(absl::Condition(&all_told_), kStopLimit));
  }
  timer_.join();
  teller_.join();
}

absl::Time RunDriver::Now() const {
  return replayed_.has_value() ? *replayed_ : clock_->Now() - behind_;
}

absl::Time RunDriver::TakeTime() {
  const absl::Time now = Now();
  if (replays() || now - timer_due_ <= frozen_after_) return now;
  behind_ += now - timer_due_;
  return timer_due_;
}

void RunDriver::ReplayAt(absl::Time now) {
  absl::MutexLock lock(&mu_);
  replayed_ = now;
}

void RunDriver::Go() {
  absl::MutexLock lock(&mu_);
  behind_ = clock_->Now() - Now();
  replayed_.reset();
}

absl::Status RunDriver::Step(const RunInput& input,
                             absl::FunctionRef<void()> accepted,
                             absl::FunctionRef<void(absl::Time)> recorded) {
  absl::MutexLock lock(&mu_);
  const absl::Time now = TakeTime();
  recorded(now);
  const absl::Status status = course_.Step(now, input, outputs_);
  if (status.ok()) accepted();
  PerformOutputs(now);
  // Here and not on the timer's thread: that may be late, and a policy that
  // decides at its deadline would pay for the switch of threads.
  for (int i = 0; i < kMostDeadlines && course_.NextDeadline() <= now; ++i) {
    course_.Step(now, TimePassed{}, outputs_).IgnoreError();
    PerformOutputs(now);
  }
  const absl::Time due = course_.NextDeadline();
  // A deadline that moved away is found out when the old one is reached:
  // every push renews a lease, and waking the timer for each would cost more.
  if (due < timer_due_) timer_moved_.Signal();
  timer_due_ = due;
  DoSends();
  return status;
}

void RunDriver::PerformOutputs(absl::Time now) {
  Perform(now, outputs_);
  outputs_.clear();
}

void RunDriver::Tell(Deed deed) {
  if (replays()) return;
  tells_.push_back(std::move(deed));
  something_to_tell_.Signal();
}

void RunDriver::TellOnceSent(Deed deed) {
  Send([this, deed = std::move(deed)]() mutable {
    absl::MutexLock lock(&mu_);
    Tell(std::move(deed));
  });
}

bool RunDriver::backlogged() const { return tells_.size() >= kBacklog; }

void RunDriver::DoSends() {
  if (sending_) return;
  sending_ = true;
  for (int batch = 0; batch < kMostBatches && has_sends(); ++batch) {
    if (!WriteRecords()) return;
    DoHeldSends();
  }
  sending_ = false;
  if (has_sends() || stopping_) something_to_tell_.Signal();
}

bool RunDriver::WriteRecords() {
  held_sends_ = std::exchange(sends_, {});
  if (records_.empty()) return true;
  const std::string records = std::exchange(records_, {});
  mu_.Unlock();
  const bool safe = write_ahead_(records, [this] { OnRecordsSafe(); });
  mu_.Lock();
  return safe;
}

void RunDriver::OnRecordsSafe() {
  absl::MutexLock lock(&mu_);
  DoHeldSends();
  sending_ = false;
  DoSends();
  if (stopping_) something_to_tell_.Signal();
}

void RunDriver::DoHeldSends() {
  std::vector<Deed> sends = std::exchange(held_sends_, {});
  mu_.Unlock();
  for (Deed& send : sends) send();
  sends.clear();
  mu_.Lock();
}

void RunDriver::RunTimer() {
  absl::MutexLock lock(&mu_);
  while (!stopping_) {
    timer_due_ = course_.NextDeadline();
    if (timer_due_ > Now()) {
      clock_->Wait(timer_moved_, mu_, timer_due_ + behind_);
      continue;
    }
    mu_.Unlock();
    OnDeadline();
    mu_.Lock();
  }
}

void RunDriver::RunTells() {
  absl::MutexLock lock(&mu_);
  while (true) {
    DoSends();
    if (!tells_.empty()) {
      Deed tell = std::move(tells_.front());
      tells_.pop_front();
      mu_.Unlock();
      tell();
      tell = nullptr;
      mu_.Lock();
    } else if (stopping_ && !has_sends() && !sending_) {
      all_told_ = true;
      return;
    } else if (!has_sends() || sending_) {
      something_to_tell_.Wait(&mu_);
    }
  }
}

}  // namespace paceline
