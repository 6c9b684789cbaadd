#include "services/coordinator/engine.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {

Engine::Engine(const Clock* clock, const SyncOptions& options,
               std::unique_ptr<SyncPolicy> policy, OutputSink* sink)
    : clock_(clock),
      sink_(sink),
      core_(options, std::move(policy)),
      timer_([this] { RunTimer(); }) {}

Engine::~Engine() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    timer_moved_.Signal();
  }
  timer_.join();
}

void Engine::Start(absl::Span<const WorkerId> workers) {
  absl::MutexLock lock(&mu_);
  core_.Start(clock_->Now(), workers, outputs_);
  PerformAll();
}

void Engine::Join(WorkerId worker) {
  absl::MutexLock lock(&mu_);
  core_.Join(clock_->Now(), worker, outputs_);
  PerformAll();
}

void Engine::Heard(WorkerId worker) {
  absl::MutexLock lock(&mu_);
  core_.Heard(clock_->Now(), worker);
}

absl::Status Engine::PushDone(WorkerId worker, const PushReport& report) {
  absl::MutexLock lock(&mu_);
  const absl::Status status =
      core_.PushDone(clock_->Now(), worker, report, outputs_);
  PerformAll();
  return status;
}

absl::Status Engine::GradientReady(WorkerId worker, Iteration iteration) {
  absl::MutexLock lock(&mu_);
  const absl::Status status =
      core_.GradientReady(clock_->Now(), worker, iteration, outputs_);
  PerformAll();
  return status;
}

absl::Status Engine::Abandoned(WorkerId worker, Iteration iteration) {
  absl::MutexLock lock(&mu_);
  const absl::Status status =
      core_.Abandoned(clock_->Now(), worker, iteration, outputs_);
  PerformAll();
  return status;
}

void Engine::Leave(WorkerId worker, LossReason reason) {
  absl::MutexLock lock(&mu_);
  core_.Leave(clock_->Now(), worker, reason, outputs_);
  PerformAll();
}

void Engine::FenceAnswered(WorkerId worker, const FenceAnswer& answer) {
  absl::MutexLock lock(&mu_);
  core_.FenceAnswered(clock_->Now(), worker, answer, outputs_);
  PerformAll();
}

void Engine::Seal() {
  absl::MutexLock lock(&mu_);
  core_.Seal(clock_->Now(), outputs_);
  PerformAll();
}

absl::Status Engine::Switch(absl::string_view spec, absl::string_view reason) {
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<SyncPolicy> policy,
                            MakePolicy(spec));
  absl::MutexLock lock(&mu_);
  if (core_.finished()) {
    return absl::FailedPreconditionError("the job has finished");
  }
  core_.Switch(clock_->Now(), std::move(policy), reason, outputs_);
  PerformAll();
  return absl::OkStatus();
}

void Engine::SetSchedule(const RateSchedule& schedule) {
  absl::MutexLock lock(&mu_);
  core_.SetSchedule(schedule);
}

void Engine::SetMaxSamples(int64_t samples) {
  absl::MutexLock lock(&mu_);
  core_.SetMaxSamples(clock_->Now(), samples, outputs_);
  PerformAll();
}

void Engine::SetBatching(Batching batching) {
  absl::MutexLock lock(&mu_);
  core_.SetBatching(batching);
}

void Engine::TakeResumePoint(
    absl::FunctionRef<void(const ResumePoint&)> snapshot) {
  absl::MutexLock lock(&mu_);
  snapshot(core_.TakeResumePoint());
}

EngineView Engine::View() const {
  absl::MutexLock lock(&mu_);
  EngineView view{core_.version(),       core_.samples_counted(),
                  core_.samples_total(), core_.finished(),
                  core_.policy().View(), {}};
  for (const WorkerId worker : core_.Members()) {
    view.workers.push_back({worker, core_.ClockOf(worker),
                            core_.ScoreOf(worker), core_.IsStraggler(worker),
                            core_.BatchOf(worker), core_.LagOf(worker)});
  }
  return view;
}

std::string Engine::DescribePolicy() const {
  absl::MutexLock lock(&mu_);
  return core_.policy().Describe();
}

void Engine::PerformAll() {
  // Still under the lock, or two threads could swap their outputs.
  for (const Output& output : outputs_) sink_->Perform(output);
  sink_->CallDone();
  outputs_.clear();
  const absl::Time due = core_.NextDeadline();
  // A deadline that moved away is found out when the old one is reached:
  // every push renews a lease, and waking the timer for each would cost more.
  if (due < timer_due_) timer_moved_.Signal();
  timer_due_ = due;
}

void Engine::RunTimer() {
  absl::MutexLock lock(&mu_);
  while (!stopping_) {
    const absl::Time now = clock_->Now();
    const absl::Time due = core_.NextDeadline();
    if (due <= now) {
      core_.Tick(now, outputs_);
      PerformAll();
    } else {
      timer_moved_.WaitWithTimeout(&mu_, due - now);
    }
  }
}

}  // namespace paceline
