#ifndef PACELINE_TESTS_SERVICES_WORKER_PROGRAM_PROGRAM_WORKER_TESTING_H_
#define PACELINE_TESTS_SERVICES_WORKER_PROGRAM_PROGRAM_WORKER_TESTING_H_

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "services/worker/program/program_agent.h"
#include "tests/common/test_folder.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/fake_parameters.h"
#include "tests/services/worker/program/played_program.h"
#include "tests/services/worker/worker_testing.h"

// A worker that is the agent of a program: coordinator, parameter server and
// program are played by the test, over real gRPC and a real socket.

namespace paceline {

inline v1::Assignment ProgramAssignment(uint64_t run = 1) {
  v1::Assignment assignment = AssignmentOf(run);
  assignment.set_job_name("namespaces/a/jobs/j");
  v1::JobSpec& job = *assignment.mutable_job();
  job.set_model("program:mine");
  job.set_data("program");
  job.set_optimizer("sgd:momentum=0.9");
  job.set_learning_rate(0.25);
  job.set_seed(7);
  (*job.mutable_arguments())["depth"] = "18";
  return assignment;
}

inline std::string FloatsOf(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()),
          values.size() * sizeof(float)};
}

// The samples of a `lot`.
inline std::vector<uint32_t> SamplesOf(const std::string& lot) {
  std::vector<uint32_t> numbers(lot.size() / sizeof(uint32_t));
  memcpy(numbers.data(), lot.data(), lot.size());
  EXPECT_EQ(numbers.at(1), numbers.size() - 2);
  return {numbers.begin() + 2, numbers.end()};
}

class ProgramWorkerTest : public testing::Test {
 protected:
  void SetUp() override { Start(ProgramAgent::Options()); }

  void Start(ProgramAgent::Options options, bool evaluator = false,
             const PaceSpec& pace = {}) {
    worker_.reset();
    agent_.reset();
    options.name = "mine";
    options.worker = "w0";
    options.evaluator = evaluator;
    if (options.socket.empty()) options.socket = folder_.Path("program.sock");
    options.grace = absl::Milliseconds(200);
    auto agent = ProgramAgent::Create(options);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
    worker_.emplace(coordinator_.address(), evaluator, absl::ZeroDuration(),
                    TaskHost{}, agent_.get(), pace);
    session_ = coordinator_.NextSession();
    session_->Register();
  }

  std::unique_ptr<PlayedProgram> Connect() {
    return std::make_unique<PlayedProgram>(agent_->socket());
  }

  // Up to where grants can come.
  void Begin(PlayedProgram& program, bool initialize = true) {
    const auto ready = session_->Expect(v1::WorkerMessage::kReady);
    v1::WorkerCommand begin;
    *begin.mutable_begin() = parameters_.Begin(ready.ready(), initialize);
    session_->Send(std::move(begin));
    program.TakeBegin();
    if (initialize) session_->Expect(v1::WorkerMessage::kInitialized);
  }

  std::unique_ptr<PlayedProgram> BeginJob() {
    session_->Assign(ProgramAssignment());
    auto program = Connect();
    program->Attach();
    Begin(*program);
    return program;
  }

  void Send(const v1::WorkerCommand& command) { session_->Send(command); }

  v1::WorkerCommand GrantOf(int64_t iteration, uint32_t begin, uint32_t end) {
    v1::WorkerCommand command;
    v1::Grant& grant = *command.mutable_grant();
    grant.set_iteration(iteration);
    grant.mutable_range()->set_begin(begin);
    grant.mutable_range()->set_end(end);
    grant.mutable_plan()->set_immediate_rate(0.1);
    return command;
  }

  // Up to where the program computes.
  void TakeStep(PlayedProgram& program) {
    program.Expect(FrameKind::kLot);
    program.Expect(FrameKind::kStep);
    program.ExpectWeights(3);
  }

  // Up to where the second grant can come.
  std::unique_ptr<PlayedProgram> BeginJobAndStep() {
    auto program = BeginJob();
    Send(GrantOf(1, 0, 32));
    TakeStep(*program);
    program->SayDone(1, 1, 32);
    session_->Expect(v1::WorkerMessage::kPushDone);
    return program;
  }

  v1::Failed ExpectFailed(absl::StatusCode code) {
    v1::Failed failed = session_->Expect(v1::WorkerMessage::kFailed).failed();
    EXPECT_EQ(failed.code(), static_cast<int>(code)) << failed.message();
    return failed;
  }

  const TestFolder folder_;
  FakeCoordinator coordinator_;
  FakeParameters parameters_;
  std::unique_ptr<ProgramAgent> agent_;
  std::optional<RunningWorker> worker_;
  std::shared_ptr<FakeSession> session_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_PROGRAM_PROGRAM_WORKER_TESTING_H_
