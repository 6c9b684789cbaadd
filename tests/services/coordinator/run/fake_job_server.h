#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_JOB_SERVER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_JOB_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/run/job_run.h"
#include "tests/services/coordinator/run/fake_stream.h"

namespace paceline {

// A parameter server without a stream: answers every numbered command of one
// run on a thread of its own, as if it had taken nothing of any push. Its
// checkpoints are real files, of weights that count from 0.
class FakeJobServer {
 public:
  // `member` is its number in the fleet.
  FakeJobServer(uint64_t member, const std::string& name);
  ~FakeJobServer() { Stop(); }

  // How a run reaches it.
  ServerLink Link();
  // From now on it answers.  REQUIRES: called once; `job` outlives Stop().
  void Serve(JobRun* job);
  // Answers what has come and nothing any more.
  void Stop();

  uint64_t member() const { return member_; }
  absl::Status Say(const v1::ServerMessage& message);

  // From now on checkpoints fail, with this.
  void FailCheckpoints(const absl::Status& why);
  // From now on snapshots come to nothing, with this.
  void RefuseSnapshots(const absl::Status& why);

  // The commands so far.
  std::vector<v1::ServerCommand> Commands();
  // Waits for the first command of that kind.
  v1::ServerCommand Await(v1::ServerCommand::KindCase kind);

 private:
  void Run();
  void Answer(const v1::ServerCommand& command);
  void Write(const v1::ServerCommand& command);
  // The blocks that it hosts, to that file.
  absl::Status WriteFile(const v1::WriteCheckpoint& write,
                         v1::CheckpointWritten& written);

  const uint64_t member_;
  const std::string name_;
  JobRun* job_ = nullptr;
  const std::shared_ptr<FakeStream<v1::ServerCommand>> stream_ =
      std::make_shared<FakeStream<v1::ServerCommand>>();
  absl::Mutex mu_;
  std::vector<v1::ServerCommand> commands_ ABSL_GUARDED_BY(mu_);
  v1::HostJob host_ ABSL_GUARDED_BY(mu_);
  absl::Status fail_ ABSL_GUARDED_BY(mu_);
  absl::Status refuse_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_JOB_SERVER_H_
