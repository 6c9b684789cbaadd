#include "services/cli/run_folder.h"

#include <unistd.h>

#include <filesystem>

#include "gtest/gtest.h"

namespace paceline {
namespace {

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() { std::filesystem::create_directories(dir_); }
  ~RunFolderTest() override { std::filesystem::remove_all(dir_); }

  const std::string dir_ =
      testing::TempDir() + "run_folder_test." + std::to_string(getpid());
};

TEST_F(RunFolderTest, Names) {
  EXPECT_EQ(DefaultRunDirectory(absl::FromUnixSeconds(1769874300),
                                absl::UTCTimeZone(), 4711),
            "./paceline-runs/20260131-154500-4711");
  EXPECT_EQ(RunFolderName(2, "dssp:lower=3,upper=15"),
            "2-dssp-lower-3-upper-15");
  EXPECT_EQ(RunFolderName(1, "../../etc"), "1-------etc");
}

TEST_F(RunFolderTest, MakesFoldersAndWritesWholeFiles) {
  const std::string folder = dir_ + "/a/b";
  ASSERT_TRUE(MakeFolder(folder).ok());
  ASSERT_TRUE(MakeFolder(folder).ok()) << "it may exist";
  const std::string file = folder + "/file";
  ASSERT_TRUE(WriteWholeFile(file, "one\n").ok());
  ASSERT_TRUE(WriteWholeFile(file, "one\ntwo\n\n").ok());
  EXPECT_EQ(LastLine(file), "two");
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFolder(file)));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFolder(file + "/below")));
  RemoveFile(file);
  EXPECT_EQ(LastLine(file), "");
  RemoveFile(file);
  EXPECT_TRUE(absl::IsInternal(WriteWholeFile(dir_ + "/none/file", "")));
}

TEST_F(RunFolderTest, LastLineOfALongFileIsShort) {
  const std::string file = dir_ + "/long";
  ASSERT_TRUE(WriteWholeFile(file, std::string(10000, 'a') + "\n" +
                                       std::string(1000, 'b') + "\n")
                  .ok());
  EXPECT_EQ(LastLine(file), std::string(300, 'b'));
}

}  // namespace
}  // namespace paceline
