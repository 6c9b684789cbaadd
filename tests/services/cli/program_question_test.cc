#include "services/cli/program_question.h"

#include <signal.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"
#include "tests/common/test_paths.h"

namespace paceline {
namespace {

using testing::HasSubstr;

const std::string kLine =
    "exec python3 " + TestDataPath("programs/line_program.py");

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

class ProgramQuestionTest : public testing::Test {
 protected:
  ProgramQuestion Question(const std::string& command) const {
    ProgramQuestion question;
    question.command = command;
    question.log = folder_.Path("log");
    question.job.set_data("program");
    question.job.set_wire(v1::FP32);
    return question;
  }

  const TestFolder folder_;
};

TEST_F(ProgramQuestionTest, TheProgramSaysWhatIsItsOwn) {
  const std::string pid_file = folder_.Path("pid");
  ProgramQuestion question =
      Question(absl::StrCat("echo $$ > ", pid_file, "; ", kLine));
  (*question.job.mutable_arguments())["optimizer"] = "adam";
  (*question.job.mutable_arguments())["rate"] = "0.25";
  const auto answer = AskProgram(question);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->optimizer, "adam");
  EXPECT_EQ(answer->learning_rate, 0.25);
  EXPECT_EQ(answer->train_samples, 512);
  EXPECT_EQ(Content(question.log), "job run as trainer\n");
  EXPECT_EQ(kill(std::stoi(Content(pid_file)), 0), -1) << "and is gone";
}

TEST_F(ProgramQuestionTest, ItNeedNotHaveAnOptimizer) {
  const auto answer = AskProgram(Question(kLine));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->optimizer, "");
  EXPECT_EQ(answer->learning_rate, 0);
}

TEST_F(ProgramQuestionTest, AnUnknownOptimizerIsRefused) {
  ProgramQuestion question = Question(kLine);
  (*question.job.mutable_arguments())["optimizer"] = "lion";
  (*question.job.mutable_arguments())["rate"] = "0.25";
  const absl::Status status = AskProgram(question).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the program's optimizer: "));
}

TEST_F(ProgramQuestionTest, AProgramThatEndsSaysWhy) {
  ProgramQuestion question = Question("echo $MOOD >&2; exit 3");
  question.environment = {{"MOOD", "no data"}};
  EXPECT_THAT(std::string(AskProgram(question).status().message()),
              HasSubstr("exited with 3 before it connected; last lines: no "
                        "data"));
}

TEST_F(ProgramQuestionTest, SomebodyMayStopIt) {
  ProgramQuestion question = Question("exec sleep 1000");
  question.stopped = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(AskProgram(question).status()));
  question.stopped = [] { return false; };
  question.patience = absl::Milliseconds(20);
  EXPECT_TRUE(absl::IsDeadlineExceeded(AskProgram(question).status()));
}

TEST(ProgramAnswerTest, FillsInWhatNobodyHasSaid) {
  const ProgramAnswer answer = {.optimizer = "adam", .learning_rate = 0.25};
  EXPECT_EQ(FilledIn({}, answer).optimizer(), "adam");
  EXPECT_EQ(FilledIn({}, answer).learning_rate(), 0.25);
  v1::JobSpec said;
  said.set_optimizer("sgd");
  said.set_learning_rate(1);
  EXPECT_EQ(FilledIn(said, answer).optimizer(), "sgd");
  EXPECT_EQ(FilledIn(said, answer).learning_rate(), 1);
  EXPECT_EQ(FilledIn({}, {}).optimizer(), "");
}

}  // namespace
}  // namespace paceline
