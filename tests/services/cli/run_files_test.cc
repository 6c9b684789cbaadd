// What a run leaves in files, and what it reads from pipes.

#include "services/cli/run_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LineReaderTest : public testing::Test {
 protected:
  LineReaderTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
  }
  void Write(const std::string& text) {
    ASSERT_EQ(write(write_end_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(LineReaderTest, JoinsWhatArrivesInPieces) {
  LineReader reader(read_end_.get());
  EXPECT_THAT(reader.Read(), IsEmpty());
  Write("one\ntw");
  EXPECT_THAT(reader.Read(), ElementsAre("one"));
  Write("o\n\nthree");
  EXPECT_THAT(reader.Read(), ElementsAre("two", ""));
  EXPECT_FALSE(reader.at_end());
  write_end_.Reset();
  EXPECT_THAT(reader.Read(), ElementsAre("three"));
  EXPECT_TRUE(reader.at_end());
  EXPECT_THAT(reader.Read(), IsEmpty());
}

TEST_F(LineReaderTest, ALineMayBeLongerThanItsBuffer) {
  LineReader reader(read_end_.get());
  const std::string line(40000, 'x');
  Write(line + "\n");
  EXPECT_THAT(reader.Read(), ElementsAre(line));
}

TEST(RunFolderTest, Names) {
  EXPECT_EQ(DefaultRunDirectory(absl::FromUnixSeconds(1769874300),
                                absl::UTCTimeZone(), 4711),
            "./paceline-runs/20260131-154500-4711");
  EXPECT_EQ(RunFolderName(2, "dssp:lower=3,upper=15"),
            "2-dssp-lower-3-upper-15");
  EXPECT_EQ(RunFolderName(1, "../../etc"), "1-------etc");
}

TEST(RunFolderTest, MakesFoldersAndWritesWholeFiles) {
  const TestFolder root;
  const std::string folder = root.Path("a/b");
  ASSERT_TRUE(MakeFolder(folder).ok());
  ASSERT_TRUE(MakeFolder(folder).ok()) << "it may exist";
  const std::string file = folder + "/file";
  ASSERT_TRUE(WriteWholeFile(file, "one\n").ok());
  ASSERT_TRUE(WriteWholeFile(file, "one\ntwo\n\n").ok());
  EXPECT_EQ(LastLine(file), "two");
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFolder(file)));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFolder(file + "/below")));
  std::filesystem::remove(file);
  EXPECT_EQ(LastLine(file), "");
  EXPECT_TRUE(absl::IsInternal(WriteWholeFile(root.Path("none/file"), "")));
}

TEST(RunFolderTest, FindsTheLastCheckpoint) {
  const TestFolder folder;
  const std::string run = folder.Path("run");
  EXPECT_EQ(FinalCheckpointIn(run), "");
  const std::string job = absl::StrCat(run, "/checkpoints/8f0c");
  // One on the way is not the end, and what lies deeper is none.
  ASSERT_TRUE(MakeFolder(absl::StrCat(job, "/c1/final-1")).ok());
  EXPECT_EQ(FinalCheckpointIn(run), "");
  ASSERT_TRUE(MakeFolder(absl::StrCat(job, "/final-12000-97fc")).ok());
  EXPECT_EQ(FinalCheckpointIn(run), absl::StrCat(job, "/final-12000-97fc"));
}

TEST(RunFolderTest, LastLineOfALongFileIsShort) {
  const TestFolder root;
  const std::string file = root.Path("long");
  ASSERT_TRUE(WriteWholeFile(file, std::string(10000, 'a') + "\n" +
                                       std::string(1000, 'b') + "\n")
                  .ok());
  EXPECT_EQ(LastLine(file), std::string(300, 'b'));
}

TEST(RunFolderTest, LastLinesKeepTheirIndent) {
  const TestFolder root;
  const std::string file = root.Path("traceback");
  ASSERT_TRUE(
      WriteWholeFile(file, "before\nTraceback:\n  line 3\n\nbad\n").ok());
  EXPECT_THAT(LastLinesOf(file, 3),
              testing::ElementsAre("Traceback:", "  line 3", "bad"));
  EXPECT_THAT(LastLinesOf(file, 9), testing::SizeIs(4));
  EXPECT_THAT(LastLinesOf(root.Path("none"), 9), testing::IsEmpty());
}

}  // namespace

}  // namespace paceline
