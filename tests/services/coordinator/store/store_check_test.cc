#include "services/coordinator/store/store_check.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class StoreCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = OpenStore(path_);
    StoreBatch batch;
    batch.jobs = {JobNamed("a"), JobNamed("b")};
    batch.jobs[0].set_state(v1::Job::RUNNING);
    batch.jobs[1].set_state(v1::Job::FAILED);
    ASSERT_TRUE(store_->Write(batch).ok());
  }

  const TestFolder folder_;
  const std::string path_ = folder_.Path("store.db");
  const std::string copy_ = folder_.Path("copy.db");
  std::unique_ptr<JobStore> store_;
};

TEST_F(StoreCheckTest, SaysWhatIsInOneThatIsInUse) {
  const auto contents = CheckStore(path_);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->Describe(),
            "version 2, 1 FAILED, 1 RUNNING, 0 checkpoints");
  // Nobody notices.
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("c")}}).ok());
  EXPECT_TRUE(store_->health().ok());
}

TEST_F(StoreCheckTest, CopiesOneThatIsInUse) {
  const auto copied = BackUpStore(path_, copy_);
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->jobs.size(), 2u);
  // What comes later is not in it.
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("c")}}).ok());
  const auto jobs = OpenStore(copy_)->LoadJobs();
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(jobs->size(), 2u);
}

TEST_F(StoreCheckTest, NothingIsOverwritten) {
  std::ofstream(copy_) << "somebody's";
  EXPECT_TRUE(absl::IsAlreadyExists(BackUpStore(path_, copy_).status()));
  EXPECT_EQ(std::filesystem::file_size(copy_), 10u);
}

TEST_F(StoreCheckTest, SaysWhatIsWrong) {
  EXPECT_TRUE(absl::IsNotFound(CheckStore(folder_.Path("none")).status()));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("none")));
  folder_.Write("text", std::string(8192, 'x'));
  const absl::Status damaged = CheckStore(folder_.Path("text")).status();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("put a backup"));
  EXPECT_FALSE(BackUpStore(folder_.Path("text"), copy_).ok());
  EXPECT_FALSE(std::filesystem::exists(copy_));
}

}  // namespace
}  // namespace paceline
