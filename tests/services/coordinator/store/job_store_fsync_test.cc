// A store that is to survive the machine.

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/common/synced_files.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

class JobStoreFsyncTest : public testing::Test {
 protected:
  // What one more write has synced of SQLite's log.
  int SyncsOfAWrite(const StoreOptions& options) {
    const std::string path = folder_.Path("jobs.db");
    const auto store = OpenStore(path, options);
    // The log's own beginning is synced by any store.
    EXPECT_TRUE(store->Write({.jobs = {JobNamed("a")}}).ok());
    const int before = disk_.CountOf(absl::StrCat(path, "-wal"));
    EXPECT_TRUE(store->Write({.jobs = {JobNamed("b")}}).ok());
    return disk_.CountOf(absl::StrCat(path, "-wal")) - before;
  }

  const TestFolder folder_;
  SyncedFiles disk_;
};

TEST_F(JobStoreFsyncTest, AWriteIsSyncedBeforeItReturns) {
  EXPECT_GT(SyncsOfAWrite({.fsync = true}), 0);
}

TEST_F(JobStoreFsyncTest, OrNot) { EXPECT_EQ(SyncsOfAWrite({}), 0); }

}  // namespace
}  // namespace paceline
