#include "services/parameter_server/folder_reports.h"

#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/shared_folder.h"
#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/run/manual_clock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class FolderReportsTest : public ::testing::Test {
 protected:
  FolderReportsTest() { EXPECT_TRUE(ClaimFolder(shared_, "one").ok()); }

  v1::CheckpointFolders Told(const std::string& id, uint64_t number = 1) {
    v1::CheckpointFolders folders;
    folders.set_number(number);
    folders.add_folders()->set_path(shared_);
    folders.mutable_folders(0)->set_id(id);
    return folders;
  }
  v1::FoldersSeen Await(FolderReports& reports) {
    std::optional<v1::FoldersSeen> seen;
    EXPECT_TRUE(Eventually([&] {
      seen = reports.Take();
      return seen.has_value();
    }));
    return seen.value_or(v1::FoldersSeen());
  }

  const TestFolder root_;
  const std::string shared_ = root_.Path("shared");
  ManualClock clock_;
};

TEST_F(FolderReportsTest, SaysOnceThatItSeesTheSame) {
  FolderReports reports({}, &clock_);
  EXPECT_FALSE(reports.Take().has_value());
  EXPECT_TRUE(reports.status().ok());
  reports.Watch(Told("one", 7));
  const v1::FoldersSeen seen = Await(reports);
  EXPECT_EQ(seen.number(), 7u);
  EXPECT_EQ(seen.code(), 0);
  EXPECT_EQ(seen.message(), "");
  EXPECT_FALSE(reports.Take().has_value());
  // Another coordinator names its own.
  reports.Forget();
  EXPECT_FALSE(reports.Take().has_value());
  reports.Watch(Told("one", 1));
  EXPECT_EQ(Await(reports).number(), 1u);
}

TEST_F(FolderReportsTest, SaysThatItSeesAnotherUntilThatIsMended) {
  FolderReports reports({}, &clock_);
  reports.Watch(Told("two"));
  const v1::FoldersSeen seen = Await(reports);
  EXPECT_EQ(seen.code(),
            static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(seen.message(), HasSubstr(shared_));
  EXPECT_TRUE(absl::IsFailedPrecondition(reports.status()));
  std::filesystem::remove(absl::StrCat(shared_, "/", kFolderIdFile));
  ASSERT_TRUE(ClaimFolder(shared_, "two").ok());
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Await(reports).message(), "");
  EXPECT_TRUE(reports.status().ok());
}

TEST_F(FolderReportsTest, OneOutsideOfItsRootsIsRefused) {
  FolderReports reports({root_.Path("mine")}, &clock_);
  reports.Watch(Told("one"));
  const v1::FoldersSeen seen = Await(reports);
  EXPECT_EQ(seen.code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(seen.message(), HasSubstr("does not lie within"));
}

// Only the first keeps jobs away.
TEST_F(FolderReportsTest, TroubleWithAnotherFolderIsToldToo) {
  FolderReports reports({}, &clock_);
  v1::CheckpointFolders folders = Told("one");
  folders.add_folders()->set_path(root_.Path("none"));
  folders.mutable_folders(1)->set_id("three");
  reports.Watch(folders);
  const v1::FoldersSeen seen = Await(reports);
  EXPECT_EQ(seen.code(), 0);
  EXPECT_THAT(seen.message(), HasSubstr(root_.Path("none")));
  EXPECT_TRUE(reports.status().ok());
}

// Sent on two threads, they may come in another order.
TEST_F(FolderReportsTest, AnOlderListIsPassedOver) {
  FolderReports reports({}, &clock_);
  reports.Watch(Told("one", 2));
  reports.Watch(Told("two", 1));
  EXPECT_EQ(Await(reports).number(), 2u);
}

}  // namespace
}  // namespace paceline
