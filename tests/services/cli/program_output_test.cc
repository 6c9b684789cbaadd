#include "services/cli/program_output.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ProgramOutputTest : public testing::Test {
 protected:
  void Says(const std::string& worker, const std::string& text) const {
    std::ofstream(ProgramLog(folder_.path(), worker)) << text;
  }

  std::vector<std::string> After(const std::string& why) const {
    return LastWords(folder_.path(), why, {"w0", "w1", "w10", "eval"});
  }

  const TestFolder folder_;
};

TEST_F(ProgramOutputTest, WhoIsBlamedIsQuoted) {
  Says("w0", "all is well\n");
  Says("w1", "Traceback\n  File \"train.py\", line 3\nValueError: no\n");
  Says("w10", "also well\n");
  EXPECT_THAT(
      After("w1: the program exited with 1"),
      ElementsAre(absl::StrCat(ProgramLog(folder_.path(), "w1"), " ends with:"),
                  "  | Traceback", "  |   File \"train.py\", line 3",
                  "  | ValueError: no"));
  EXPECT_THAT(After("w10: gone; w1 waits"), Contains("  | also well"));
}

TEST_F(ProgramOutputTest, WithoutBlameTheFirstWhoSaidAnything) {
  EXPECT_THAT(After("nobody came"), IsEmpty());
  Says("w0", "");
  Says("eval", "hello\n");
  EXPECT_THAT(After("nobody came"), Contains("  | hello"));
}

TEST_F(ProgramOutputTest, AMissingPackageHasARemedy) {
  Says("w0", "ModuleNotFoundError: No module named 'paceline'\n");
  EXPECT_THAT(After("w0: exited").back(),
              HasSubstr("pip install services/worker/python"));
}

TEST(QuoteTest, TheLastLineSaysEnough) {
  const std::pair<const char*, const char*> kTexts[] = {
      {"w0: lost", "w0: lost"},
      {"a | b", "a | b"},
      {"exited with 1 in step 3; last lines: no disk",
       "exited with 1 in step 3: no disk"},
      {"a | b; last lines:   in f |   raise x | ValueError: x; 3 times",
       "a | b: ValueError: x; 3 times"},
      {"", ""},
  };
  for (const auto& [text, shown] : kTexts) {
    EXPECT_EQ(WithLastQuote(text), shown);
  }
}

TEST_F(ProgramOutputTest, LongOutputIsCut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "step ", i, "\n");
  Says("w0", text);
  EXPECT_THAT(After("w0: exited"), SizeIs(13));
  EXPECT_EQ(After("w0: exited").back(), "  | step 999");
}

TEST_F(ProgramOutputTest, OldLogsAreRemoved) {
  Says("w0", "old\n");
  std::ofstream(folder_.Path("w0.log")) << "stays";
  RemoveProgramLogs(folder_.path());
  EXPECT_THAT(After("w0: exited"), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("w0.log")));
  RemoveProgramLogs(folder_.Path("none"));
}

}  // namespace
}  // namespace paceline
