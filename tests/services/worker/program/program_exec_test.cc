// An agent that starts its programs itself: shell scripts that die.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/worker/program/program_agent.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/program/played_program.h"
#include "tests/services/worker/worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;
using testing::HasSubstr;

class ProgramExecTest : public testing::Test {
 protected:
  void Start(const std::string& command) {
    ProgramAgent::Options options;
    options.name = "mine";
    options.worker = "w0";
    options.command.text = command;
    options.grace = absl::Milliseconds(100);
    auto agent = ProgramAgent::Create(options);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
    worker_.emplace(coordinator_.address(), false, absl::ZeroDuration(),
                    TaskHost{}, agent_.get());
    session_ = coordinator_.NextSession();
    session_->Register();
  }

  void Assign() {
    v1::Assignment assignment = AssignmentOf(1);
    assignment.mutable_job()->set_model("program:mine");
    assignment.mutable_job()->set_data("program");
    assignment.mutable_job()->set_optimizer("sgd");
    session_->Assign(assignment);
  }

  FakeCoordinator coordinator_;
  std::unique_ptr<ProgramAgent> agent_;
  std::optional<RunningWorker> worker_;
  std::shared_ptr<FakeSession> session_;
};

TEST_F(ProgramExecTest, AScriptThatFailsEachTimeFailsClearly) {
  Start("echo ImportError: no module at $$ >&2; exit 1");
  for (int life = 1; life <= ProgramFailures::kInARow; ++life) {
    Assign();
    const auto failed = session_->Expect(Kind::kFailed).failed();
    EXPECT_EQ(failed.code(),
              static_cast<int>(life < ProgramFailures::kInARow
                                   ? absl::StatusCode::kAborted
                                   : absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(failed.message(),
                HasSubstr("the program exited with 1 before it connected; "
                          "last lines: ImportError: no module at "));
  }
}

TEST_F(ProgramExecTest, ItsSocketIsPrivateAndGoneAtTheEnd) {
  Start("exec sleep 1000");
  const std::filesystem::path socket = agent_->socket();
  EXPECT_EQ(std::filesystem::status(socket.parent_path()).permissions(),
            std::filesystem::perms::owner_all);
  Assign();
  PlayedProgram program(socket);
  program.SayHello();
  program.ExpectJson(FrameKind::kJob);
  session_->Stop();
  session_->Expect(Kind::kLeaving);
  program.ExpectJson(FrameKind::kStop);
  worker_.reset();
  agent_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

// The test plays what the process would say: when that dies, its status names
// the reason.
TEST_F(ProgramExecTest, ADeathIsDescribedByItsProcess) {
  TestFolder folder;
  const std::string go = folder.Path("go");
  Start("while [ ! -e " + go +
        " ]; do sleep 0.01; done; echo last word >&2; kill -KILL $$");
  Assign();
  PlayedProgram program(agent_->socket());
  program.Attach();
  session_->Expect(Kind::kReady);
  FakeParameters parameters;
  v1::WorkerCommand begin;
  v1::WorkerReady ready;
  for (const int64_t size : {6, 3, 2}) ready.add_tensors()->set_size(size);
  ready.mutable_tensors(1)->set_kind(v1::TensorSpec::FROZEN);
  *begin.mutable_begin() = parameters.Begin(ready, true);
  session_->Send(std::move(begin));
  program.TakeBegin();
  session_->Expect(Kind::kInitialized);
  session_->Grant(812);
  program.Expect(FrameKind::kLot);
  program.Expect(FrameKind::kStep);
  program.ExpectWeights(3);
  folder.Write("go", "");
  program.Close();
  EXPECT_EQ(session_->Expect(Kind::kFailed).failed().message(),
            "the program exited with 137 (killed: out of memory?) in step 812; "
            "last lines: last word");
}

}  // namespace
}  // namespace paceline
