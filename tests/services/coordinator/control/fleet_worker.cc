#include "tests/services/coordinator/control/fleet_worker.h"

#include "gtest/gtest.h"
#include "tests/services/coordinator/control/patience.h"

namespace paceline {
namespace {

v1::WorkerReady ReadyMessage() {
  v1::WorkerReady ready;
  v1::TensorSpec& weights = *ready.add_tensors();
  weights.set_name("weight");
  weights.add_shape(10);
  weights.add_shape(4);
  weights.set_size(40);
  ready.set_train_samples(40);
  ready.set_test_samples(100);
  return ready;
}

v1::WorkerHello HelloOf(const std::string& name, bool evaluator) {
  v1::WorkerHello hello;
  hello.set_name(name);
  hello.set_evaluator(evaluator);
  return hello;
}

}  // namespace

FleetWorker::FleetWorker(Fleet* fleet, const std::string& name, bool evaluator)
    : FleetWorker(fleet, HelloOf(name, evaluator)) {}

FleetWorker::FleetWorker(Fleet* fleet, const v1::WorkerHello& hello)
    : fleet_(fleet) {
  const auto member = fleet_->OnWorkerConnected(hello, stream_);
  EXPECT_TRUE(member.ok()) << member.status();
  member_ = member.value_or(0);
  thread_ = std::thread([this] { Run(); });
}

void FleetWorker::Stop() {
  stream_->commands.Close(absl::OkStatus());
  if (thread_.joinable()) thread_.join();
}

void FleetWorker::Run() {
  while (true) {
    const auto command = stream_->commands.Take(absl::InfiniteDuration());
    if (!command.ok()) return;
    Obey(*command);
    PushWhatIsHeld();
  }
}

void FleetWorker::Obey(const v1::WorkerCommand& command) {
  v1::WorkerMessage answer;
  if (command.has_assign()) {
    {
      absl::MutexLock lock(&mu_);
      pushes_left_ = pushes_of_a_life_;
    }
    assigned_.Put({});
    if (Died()) return;
    *answer.mutable_ready() = ReadyMessage();
    Say(answer);
  } else if (command.has_begin() && command.begin().initialize()) {
    answer.mutable_initialized();
    Say(answer);
  } else if (command.has_grant()) {
    if (Died()) return;
    absl::MutexLock lock(&mu_);
    --pushes_left_;
    held_.push_back(command.grant());
  } else if (command.has_stop()) {
    {
      absl::MutexLock lock(&mu_);
      held_.clear();
    }
    answer.mutable_leaving();
    Say(answer);
    stops_.Put({command.stop().reason()});
  }
}

bool FleetWorker::Died() {
  v1::WorkerMessage message;
  {
    absl::MutexLock lock(&mu_);
    if (death_.ok() || pushes_left_ > 0) return false;
    held_.clear();
    message.mutable_failed()->set_code(static_cast<int>(death_.code()));
    message.mutable_failed()->set_message(std::string(death_.message()));
  }
  Say(message);
  return true;
}

void FleetWorker::FailEachTime(const absl::Status& why, int pushes) {
  absl::MutexLock lock(&mu_);
  death_ = why;
  pushes_of_a_life_ = pushes_left_ = pushes;
}

void FleetWorker::FailNoMore() {
  absl::MutexLock lock(&mu_);
  death_ = absl::OkStatus();
}

void FleetWorker::Heartbeat() {
  v1::WorkerMessage message;
  message.mutable_heartbeat();
  Say(message);
}

void FleetWorker::AwaitAssigned() {
  EXPECT_TRUE(assigned_.Take(kPatience).ok()) << "it is not assigned";
}

void FleetWorker::PushNothingFinite() {
  absl::MutexLock lock(&mu_);
  not_finite_ = true;
}

void FleetWorker::LearnNothing() {
  absl::MutexLock lock(&mu_);
  learns_ = false;
}

void FleetWorker::PushWhatIsHeld() {
  while (true) {
    v1::WorkerMessage message;
    {
      absl::MutexLock lock(&mu_);
      if (held_.empty() || pushes_ == 0) return;
      --pushes_;
      const v1::Grant& grant = held_.front();
      v1::PushDone& done = *message.mutable_push_done();
      done.set_iteration(grant.iteration());
      done.set_samples(grant.range().end() - grant.range().begin());
      done.set_blocks(1);
      done.set_loss(learns_ ? 1.0 / static_cast<double>(grant.iteration()) : 1);
      done.set_discarded(not_finite_);
      held_.pop_front();
    }
    Say(message);
  }
}

void FleetWorker::Push(int pushes) {
  {
    absl::MutexLock lock(&mu_);
    pushes_ += pushes;
  }
  stream_->commands.Put({});  // It looks again.
}

void FleetWorker::Say(const v1::WorkerMessage& message) {
  // A run that has just ended refuses what belonged to it.
  fleet_->OnWorkerMessage(member_, message).IgnoreError();
}

std::string FleetWorker::AwaitStop() {
  const auto stop = stops_.Take(kPatience);
  return stop.ok() ? stop->reason : "none came";
}

absl::Status FleetWorker::AwaitClosed() {
  return stream_->AwaitClosed(kPatience);
}

}  // namespace paceline
