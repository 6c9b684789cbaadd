#include "services/coordinator/run/driver/run_driver.h"

#include <utility>

namespace paceline {
namespace {

// A stream's thread that sends for others as well goes back to its own stream
// after so many batches; the driver's thread sends the rest.
constexpr int kMostBatches = 16;

}  // namespace

RunDriver::RunDriver(const Clock* clock, const CourseOptions& options,
                     const RunSettings& settings, OutputPerformer* performer)
    : clock_(clock),
      performer_(performer),
      course_(options, settings, clock->Now()),
      timer_([this] { RunTimer(); }),
      teller_([this] { RunTells(); }) {}

RunDriver::~RunDriver() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    timer_moved_.Signal();
    something_to_tell_.Signal();
  }
  timer_.join();
  teller_.join();
}

absl::Status RunDriver::Step(const RunInput& input,
                             absl::FunctionRef<void(Outbox&)> accepted) {
  absl::MutexLock lock(&mu_);
  const absl::Time now = clock_->Now();
  const absl::Status status = course_.Step(now, input, outputs_);
  if (status.ok()) accepted(outbox_);
  for (const RunOutput& output : outputs_) {
    performer_->Take(now, output, outbox_);
  }
  performer_->StepTaken();
  outputs_.clear();
  const absl::Time due = course_.NextDeadline();
  // A deadline that moved away is found out when the old one is reached:
  // every push renews a lease, and waking the timer for each would cost more.
  if (due < timer_due_) timer_moved_.Signal();
  timer_due_ = due;
  if (!outbox_.tells.empty()) something_to_tell_.Signal();
  Send();
  return status;
}

void RunDriver::Tell(Outbox::Deed deed) {
  absl::MutexLock lock(&mu_);
  outbox_.tells.push_back(std::move(deed));
  something_to_tell_.Signal();
}

void RunDriver::AwaitSent() {
  absl::MutexLock lock(&mu_);
  const auto sent = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !sending_ && outbox_.sends.empty();
  };
  Send();
  mu_.Await(absl::Condition(&sent));
}

void RunDriver::Send() {
  if (sending_) return;
  sending_ = true;
  for (int batch = 0; batch < kMostBatches && !outbox_.sends.empty(); ++batch) {
    std::vector<Outbox::Deed> sends = std::exchange(outbox_.sends, {});
    mu_.Unlock();
    for (Outbox::Deed& send : sends) send();
    sends.clear();
    mu_.Lock();
  }
  sending_ = false;
  if (!outbox_.sends.empty()) something_to_tell_.Signal();
}

void RunDriver::RunTimer() {
  absl::MutexLock lock(&mu_);
  while (!stopping_) {
    const absl::Time due = course_.NextDeadline();
    timer_due_ = due;
    if (due > clock_->Now()) {
      clock_->Wait(timer_moved_, mu_, due);
      continue;
    }
    mu_.Unlock();
    Step(TimePassed{}).IgnoreError();
    mu_.Lock();
  }
}

void RunDriver::RunTells() {
  absl::MutexLock lock(&mu_);
  while (true) {
    Send();
    if (outbox_.tells.empty()) {
      if (stopping_ && outbox_.sends.empty()) return;
      if (outbox_.sends.empty() || sending_) something_to_tell_.Wait(&mu_);
      continue;
    }
    std::vector<Outbox::Deed> tells = std::exchange(outbox_.tells, {});
    mu_.Unlock();
    for (Outbox::Deed& tell : tells) tell();
    tells.clear();
    mu_.Lock();
  }
}

}  // namespace paceline
