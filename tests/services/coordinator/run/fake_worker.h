#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_WORKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/run/job_run.h"
#include "tests/services/coordinator/run/fake_stream.h"

namespace paceline {

// Longer than any test may take: ends only what would hang.
inline constexpr absl::Duration kLong = absl::Seconds(30);

// What a worker says once its model is built.
v1::WorkerReady SmallModel(uint32_t train_samples);

// A worker or evaluator without a stream: it records its commands, and the test
// says its lines.
class FakeWorker {
 public:
  using Kind = v1::WorkerCommand::KindCase;

  // `session`: where it is when the worker comes; nothing of it is checked.
  FakeWorker(JobRun* job, const std::string& name, bool evaluator = false,
             const SessionPoint& session = {});

  WorkerId id() const { return id_; }
  const absl::Status& registered() const { return registered_; }

  // The next command but heartbeats, which must be of that kind; an empty one
  // if it is not.
  v1::WorkerCommand Next(Kind kind);
  bool HasNothing() { return !stream_->commands.Await(absl::ZeroDuration()); }

  absl::Status Say(const v1::WorkerMessage& message);
  absl::Status SayReady(const v1::WorkerReady& ready);
  absl::Status SayInitialized();
  absl::Status SayHeartbeat();
  absl::Status SayLeaving();
  absl::Status SayEvaluated(int64_t snapshot, double accuracy,
                            double loss = 0.5);
  // That the snapshot could not be had.
  absl::Status SayNotEvaluated(int64_t snapshot, const absl::Status& why);
  // That the grant's iteration is pushed, all of its samples used.
  absl::Status SayPushed(const v1::Grant& grant);
  // The stream breaks.
  void Break() { job_->OnWorkerDisconnected(id_); }

  // Up to `assign` and `ready`.
  void Enter(const v1::WorkerReady& ready);
  // Takes commands, obeying `begin` and `grant`, until it is told to stop or
  // has pushed `pushes` times. Returns how often it pushed.
  int Work(int pushes = 1'000'000);
  // The `stop` that must come, after whatever else.
  v1::Stop AwaitStop();
  // The status with which the coordinator closed the stream.
  absl::Status AwaitClosed() { return stream_->AwaitClosed(kLong); }
  // The run does not know it any more.
  bool IsGone() { return absl::IsNotFound(SayReady(SmallModel(40))); }

 private:
  JobRun* const job_;
  const WorkerId id_;
  const std::shared_ptr<FakeStream<v1::WorkerCommand>> stream_ =
      std::make_shared<FakeStream<v1::WorkerCommand>>();
  uint64_t said_;  // The last number, if there is a session.
  absl::Status registered_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_WORKER_H_
