#include "tests/services/coordinator/run/fake_worker.h"

#include "gtest/gtest.h"

namespace paceline {

v1::WorkerReady SmallModel(uint32_t train_samples) {
  v1::WorkerReady ready;
  v1::TensorSpec& weights = *ready.add_tensors();
  weights.set_name("dense.weight");
  weights.add_shape(10);
  weights.add_shape(4);
  weights.set_size(40);
  v1::TensorSpec& mean = *ready.add_tensors();
  mean.set_name("norm.mean");
  mean.add_shape(4);
  mean.set_size(4);
  mean.set_kind(v1::TensorSpec::STATISTIC);
  ready.set_train_samples(train_samples);
  ready.set_test_samples(100);
  return ready;
}

FakeWorker::FakeWorker(JobRun* job, const std::string& name, bool evaluator,
                       const SessionPoint& session)
    : job_(job), id_(job->NextWorker()), said_(session.received) {
  stream_->session = session;
  v1::WorkerHello hello;
  hello.set_name(name);
  hello.set_evaluator(evaluator);
  registered_ = job_->OnWorkerConnected(
      std::make_shared<RunSession>(std::weak_ptr<JobRun>(), id_, stream_),
      hello);
}

v1::WorkerCommand FakeWorker::Next(Kind kind) {
  while (true) {
    const auto command = stream_->commands.Take(kLong);
    if (!command.ok()) {
      ADD_FAILURE() << "no command came, wanted " << kind;
      return {};
    }
    if (command->has_heartbeat() && kind != Kind::kHeartbeat) continue;
    EXPECT_EQ(command->kind_case(), kind) << command->ShortDebugString();
    return command->kind_case() == kind ? *command : v1::WorkerCommand();
  }
}

absl::Status FakeWorker::Say(const v1::WorkerMessage& message) {
  if (stream_->session.id == 0 || message.has_heartbeat()) {
    return job_->OnWorkerMessage(id_, message);
  }
  v1::WorkerMessage numbered = message;
  numbered.set_number(++said_);
  return job_->OnWorkerMessage(id_, numbered);
}

absl::Status FakeWorker::SayReady(const v1::WorkerReady& ready) {
  v1::WorkerMessage message;
  *message.mutable_ready() = ready;
  return Say(message);
}

absl::Status FakeWorker::SayInitialized() {
  v1::WorkerMessage message;
  message.mutable_initialized();
  return Say(message);
}

absl::Status FakeWorker::SayHeartbeat() {
  v1::WorkerMessage message;
  message.mutable_heartbeat();
  return Say(message);
}

absl::Status FakeWorker::SayLeaving() {
  v1::WorkerMessage message;
  message.mutable_leaving();
  return Say(message);
}

absl::Status FakeWorker::SayEvaluated(int64_t snapshot, double accuracy,
                                      double loss) {
  v1::WorkerMessage message;
  message.mutable_evaluated()->set_snapshot(snapshot);
  message.mutable_evaluated()->set_accuracy(accuracy);
  message.mutable_evaluated()->set_loss(loss);
  return Say(message);
}

absl::Status FakeWorker::SayNotEvaluated(int64_t snapshot,
                                         const absl::Status& why) {
  v1::WorkerMessage message;
  message.mutable_evaluated()->set_snapshot(snapshot);
  message.mutable_evaluated()->set_code(static_cast<int>(why.code()));
  message.mutable_evaluated()->set_message(std::string(why.message()));
  return Say(message);
}

absl::Status FakeWorker::SayPushed(const v1::Grant& grant) {
  v1::WorkerMessage message;
  v1::PushDone& done = *message.mutable_push_done();
  done.set_iteration(grant.iteration());
  done.set_samples(grant.range().end() - grant.range().begin());
  done.set_blocks(2);
  done.set_loss(1);
  return Say(message);
}

void FakeWorker::Enter(const v1::WorkerReady& ready) {
  Next(Kind::kAssign);
  EXPECT_TRUE(SayReady(ready).ok());
}

int FakeWorker::Work(int pushes) {
  int pushed = 0;
  while (pushed < pushes) {
    const auto command = stream_->commands.Take(kLong);
    if (!command.ok()) {
      ADD_FAILURE() << "no command came";
      return pushed;
    }
    if (command->has_stop()) return pushed;
    if (command->has_begin() && command->begin().initialize()) {
      EXPECT_TRUE(SayInitialized().ok());
    }
    if (!command->has_grant()) continue;
    const absl::Status status = SayPushed(command->grant());
    EXPECT_TRUE(status.ok()) << status;
    ++pushed;
  }
  return pushed;
}

v1::Stop FakeWorker::AwaitStop() {
  while (true) {
    const auto command = stream_->commands.Take(kLong);
    if (!command.ok()) {
      ADD_FAILURE() << "no `stop` came";
      return {};
    }
    if (command->has_stop()) return command->stop();
  }
}

}  // namespace paceline
