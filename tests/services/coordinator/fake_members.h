#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_FAKE_MEMBERS_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_FAKE_MEMBERS_H_

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/mailbox.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/job_run.h"

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

  FakeWorker(JobRun* job, const std::string& name, bool evaluator = false);

  WorkerId id() const { return id_; }
  const absl::Status& registered() const { return registered_; }

  // The next command but heartbeats, which must be of that kind; an empty one
  // if it is not.
  v1::WorkerCommand Next(Kind kind);
  bool HasNothing() { return !commands_.Await(absl::ZeroDuration()); }

  absl::Status Say(const v1::WorkerMessage& message);
  absl::Status SayReady(const v1::WorkerReady& ready);
  absl::Status SayInitialized();
  absl::Status SayHeartbeat();
  absl::Status SayEvaluated(int64_t snapshot, double accuracy);
  // That the grant's iteration is pushed, all of its samples used.
  absl::Status SayPushed(const v1::Grant& grant);
  // The stream breaks.
  void Break() { job_->WorkerGone(id_, LossReason::kStreamBroken); }

  // Up to `welcome` and `ready`.
  void Enter(const v1::WorkerReady& ready);
  // Takes commands, obeying `begin` and `grant`, until it is told to stop or
  // has pushed `pushes` times. Returns how often it pushed.
  int Work(int pushes = 1'000'000);
  // The reason of the `stop` that must come, after whatever else.
  std::string AwaitStop();
  // The status with which the coordinator closed the stream.
  absl::Status AwaitClosed();

 private:
  struct Closing {
    absl::Status status;
  };

  JobRun* const job_;
  Mailbox<v1::WorkerCommand> commands_;
  Mailbox<Closing> closings_;
  WorkerId id_{0};
  absl::Status registered_;
};

// A parameter server without a stream: answers every numbered command on a
// thread of its own, as if it had taken nothing of any push.
class FakeServer {
 public:
  FakeServer(JobRun* job, const std::string& name);
  ~FakeServer() { Stop(); }

  // Answers what has come and nothing any more.
  void Stop();

  int index() const { return index_; }
  const absl::Status& registered() const { return registered_; }
  absl::Status Say(const v1::ServerMessage& message);
  absl::Status SayHeartbeat();

  // The numbered commands so far.
  std::vector<v1::ServerCommand> Commands();
  // Waits for the first numbered command of that kind.
  v1::ServerCommand Await(v1::ServerCommand::KindCase kind);

 private:
  void Run();

  JobRun* const job_;
  Mailbox<v1::ServerCommand> inbox_;
  int index_ = -1;
  absl::Status registered_;
  absl::Mutex mu_;
  std::vector<v1::ServerCommand> commands_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_FAKE_MEMBERS_H_
