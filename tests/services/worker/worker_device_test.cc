// A worker whose device fails: what the coordinator is told, and what goes on.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/queued_gpu.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/fake_parameters.h"
#include "tests/services/worker/worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;
using testing::HasSubstr;

class WorkerDeviceTest : public testing::Test {
 protected:
  void SetUp() override { SetQueuedGpu({}); }

  void StartWorker(const std::vector<int>& devices = {0}) {
    worker_.emplace(coordinator_.address(), /*evaluator=*/false,
                    absl::ZeroDuration(),
                    TaskHost{.device = "cuda", .devices = devices});
    session_ = coordinator_.NextSession();
    session_->Register();
  }

  void BeginJob(uint64_t run) {
    paceline::BeginJob(*session_, parameters_, run);
  }

  void ExpectPush(int64_t iteration) {
    session_->Grant(iteration);
    EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().iteration(),
              iteration);
  }

  void ExpectFailed(absl::StatusCode code, const std::string& message) {
    const v1::Failed failed = session_->Expect(Kind::kFailed).failed();
    EXPECT_EQ(failed.code(), static_cast<int>(code));
    EXPECT_THAT(failed.message(), HasSubstr(message));
  }

  FakeCoordinator coordinator_;
  FakeParameters parameters_;
  std::optional<RunningWorker> worker_;
  std::shared_ptr<FakeSession> session_;
};

TEST_F(WorkerDeviceTest, NoMemoryToPrepareAJob) {
  SetQueuedGpu({.floats = 1000});
  StartWorker();
  session_->Assign(AssignmentOf(1));
  ExpectFailed(absl::StatusCode::kResourceExhausted, "no memory for");
  SetQueuedGpu({});
  BeginJob(2);
  ExpectPush(1);
}

TEST_F(WorkerDeviceTest, NoMemoryInAnIterationFailsThatJobOnly) {
  SetQueuedGpu({.computations = 60,
                .failure = absl::ResourceExhaustedError("no scratch")});
  StartWorker();
  BeginJob(1);
  ExpectPush(1);
  int64_t iteration = 1;
  v1::WorkerMessage said;
  do {
    session_->Grant(++iteration);
    said = session_->Next();
  } while (said.has_push_done() && iteration < 60);
  EXPECT_EQ(said.failed().code(),
            static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(said.failed().message(), "no scratch");
  // The same job again: with a backend of its own.
  SetQueuedGpu({});
  BeginJob(1);
  ExpectPush(1);
  EXPECT_EQ(worker_->Metric("paceline_worker_assignments_total", "failed"), 1);
}

TEST_F(WorkerDeviceTest, ALostDeviceEndsTheWorkerWithItsReason) {
  SetQueuedGpu({.computations = 0});
  StartWorker();
  BeginJob(1);
  session_->Grant(1);
  ExpectFailed(absl::StatusCode::kInternal, "the device is lost");
  EXPECT_EQ(worker_->AwaitEnd(), absl::InternalError("the device is lost"));
  session_->ExpectEnd();
  EXPECT_EQ(parameters_.pushes(), 0);
}

// Whichever it is: the first one's error of those that fail is told.
TEST_F(WorkerDeviceTest, ALostDeviceOfSeveralEndsTheWorker) {
  SetQueuedGpu({.computations = 0});
  StartWorker({0, 1});
  BeginJob(1);
  session_->Grant(1);
  ExpectFailed(absl::StatusCode::kInternal,
               "device 1 of 2: the device is lost");
  EXPECT_EQ(worker_->AwaitEnd(),
            absl::InternalError("device 1 of 2: the device is lost"));
  EXPECT_EQ(parameters_.pushes(), 0);
}

TEST_F(WorkerDeviceTest, SeveralDevicesPushOnce) {
  StartWorker({0, 1, 2});
  BeginJob(1);
  for (int64_t iteration = 1; iteration <= 4; ++iteration) {
    ExpectPush(iteration);
    EXPECT_EQ(parameters_.pushes(), iteration);
  }
}

TEST_F(WorkerDeviceTest, SoDoesOneThatIsGoneBeforeAJob) {
  StartWorker();
  BeginJob(1);
  session_->Stop();
  session_->Expect(Kind::kLeaving);
  const absl::Status gone = absl::UnavailableError("fell off the bus");
  SetQueuedGpu({}, gone);
  session_->Assign(AssignmentOf(2));
  ExpectFailed(absl::StatusCode::kUnavailable, "fell off the bus");
  EXPECT_EQ(worker_->AwaitEnd(), gone);
}

TEST_F(WorkerDeviceTest, BadDataEndsNoWorker) {
  StartWorker();
  session_->Assign(AssignmentOf(1, "mnist:/nowhere"));
  session_->Expect(Kind::kFailed);
  BeginJob(2);
  ExpectPush(1);
}

TEST_F(WorkerDeviceTest, ADeviceThatRemembersNoStepsComputesThemAll) {
  SetQueuedGpu({.remembers = false});
  StartWorker();
  BeginJob(1);
  // Where the log goes unless a process says otherwise.
  testing::internal::CaptureStdout();
  for (int64_t iteration = 1; iteration <= 8; ++iteration) {
    ExpectPush(iteration);
  }
  const std::string logged = testing::internal::GetCapturedStdout();
  EXPECT_THAT(logged, HasSubstr("it does not remember"));
  EXPECT_EQ(logged.find("it does not remember"),
            logged.rfind("it does not remember"));
}

}  // namespace
}  // namespace paceline
