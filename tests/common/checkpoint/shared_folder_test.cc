#include "common/checkpoint/shared_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "gmock/gmock.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SharedFolderTest : public ::testing::Test {
 protected:
  const TestFolder folder_;
  const std::string root_ = folder_.path();
  const std::string path_ = root_ + "/a/b";
};

TEST_F(SharedFolderTest, AClaimedFolderKeepsItsId) {
  const auto first = ClaimFolder(path_, "one");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, "one");
  const auto second = ClaimFolder(path_, "two");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*second, "one");
}

TEST_F(SharedFolderTest, OthersKnowItByItsId) {
  ASSERT_TRUE(ClaimFolder(path_, "one").ok());
  EXPECT_TRUE(CheckSharedFolder(path_, "one").ok());
  const absl::Status other = CheckSharedFolder(path_, "two");
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("another one"));
}

// A machine without the mount has an empty folder there, or none.
TEST_F(SharedFolderTest, WhereTheMountIsMissingThereIsNoId) {
  for (const bool empty : {false, true}) {
    if (empty) std::filesystem::create_directories(path_);
    const absl::Status missing = CheckSharedFolder(path_, "one");
    EXPECT_TRUE(absl::IsFailedPrecondition(missing)) << missing;
    EXPECT_THAT(std::string(missing.message()), HasSubstr("mount it"));
  }
}

TEST_F(SharedFolderTest, AnEmptyIdIsSaidToBeDeleted) {
  std::filesystem::create_directories(path_);
  std::ofstream(absl::StrCat(path_, "/", kFolderIdFile)) << "\n";
  const absl::Status damaged = ClaimFolder(path_, "one").status();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_TRUE(absl::IsDataLoss(CheckSharedFolder(path_, "one")));
}

TEST_F(SharedFolderTest, AFileInItsPlaceIsNoFolder) {
  std::ofstream(root_ + "/a") << "a file";
  EXPECT_FALSE(ClaimFolder(path_, "one").ok());
  EXPECT_FALSE(CheckSharedFolder(path_, "one").ok());
  EXPECT_FALSE(TryToWrite(path_).ok());
}

TEST_F(SharedFolderTest, ATrialLeavesNothing) {
  std::filesystem::create_directories(path_);
  const absl::Status written = TryToWrite(path_);
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_TRUE(std::filesystem::is_empty(path_));
}

TEST_F(SharedFolderTest, AFullDiskIsUsable) {
  EXPECT_TRUE(IsUsable(absl::OkStatus()));
  EXPECT_TRUE(IsUsable(absl::ResourceExhaustedError("full")));
  EXPECT_FALSE(IsUsable(absl::NotFoundError("none")));
  EXPECT_FALSE(IsUsable(absl::DeadlineExceededError("hangs")));
}

TEST_F(SharedFolderTest, AFolderLiesWithinOneOfSeveral) {
  std::filesystem::create_directories(root_ + "/x");
  std::filesystem::create_directories(root_ + "/y");
  const std::vector<std::string> roots = {root_ + "/x", root_ + "/y"};
  EXPECT_TRUE(ResolveWithinAny(roots, root_ + "/x/job").ok());
  EXPECT_TRUE(ResolveWithinAny(roots, root_ + "/y/job").ok());
  const absl::Status refused =
      ResolveWithinAny(roots, root_ + "/z/job").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(*ResolveWithinAny({}, "/anywhere"), "/anywhere");
  EXPECT_THAT(std::string(ResolveWithinAny({}, "here").status().message()),
              StartsWith("a checkpoint's folder needs an absolute path"));
}

}  // namespace
}  // namespace paceline
