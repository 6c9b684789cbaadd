// Files that are damaged, or that cannot be opened at all.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "services/coordinator/store/job_store.h"
#include "services/coordinator/store/sqlite_database.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr size_t kPage = 4096;

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void Overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A store with jobs and decisions on many pages, closed.
void Fill(const std::string& path) {
  const auto store = OpenStore(path);
  for (int j = 0; j < 20; ++j) {
    const v1::Job job = JobNamed(absl::StrCat("j", j));
    StoreBatch batch;
    batch.jobs.push_back(job);
    for (int i = 1; i <= 100; ++i) {
      batch.decisions.push_back({job.uid(), DecisionNumbered(i)});
    }
    ASSERT_TRUE(store->Write(batch).ok());
  }
}

class JobStoreDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Fill(path_);
    intact_ = Contents(path_);
    ASSERT_GT(intact_.size(), 20 * kPage);
  }

  // Of opening a file with these bytes.
  absl::Status OpenWith(const std::string& bytes) {
    std::filesystem::remove(path_ + "-wal");
    std::filesystem::remove(path_ + "-shm");
    Overwrite(path_, bytes);
    return JobStore::Open(path_).status();
  }

  const TestFolder directory_;
  const std::string path_ = directory_.Path("store.db");
  std::string intact_;
};

// Whoever is to make room must know where.
TEST_F(JobStoreDamageTest, AFullDiskIsToldOfWithTheFilesName) {
  auto database = Database::Open(path_);
  ASSERT_TRUE(database.ok()) << database.status();
  ASSERT_TRUE(database->Execute("CREATE TABLE t (x)").ok());
  // To SQLite the same as a disk without room.
  ASSERT_TRUE(database->Number("PRAGMA max_page_count = 2").ok());
  const absl::Status full =
      database->Run("INSERT INTO t VALUES (?)", std::string(10 * kPage, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(
      std::string(full.message()),
      AllOf(HasSubstr("database or disk is full: /"), EndsWith("/store.db")));
}

TEST_F(JobStoreDamageTest, AFileThatIsNoDatabaseIsRefusedWithAdvice) {
  const absl::Status status = OpenWith(std::string(2 * kPage, 'x'));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("backup"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

TEST_F(JobStoreDamageTest, APageThatWasOverwrittenIsFound) {
  for (size_t page = 1; page < intact_.size() / kPage; ++page) {
    SCOPED_TRACE(absl::StrCat("page ", page + 1));
    std::string bytes = intact_;
    bytes.replace(page * kPage, 512, std::string(512, '\xa5'));
    const absl::Status status = OpenWith(bytes);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

TEST_F(JobStoreDamageTest, AFileThatWasCutIsFound) {
  const absl::Status status = OpenWith(intact_.substr(0, intact_.size() / 2));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(JobStoreDamageTest, AFormatThatNobodyKnowsIsFound) {
  std::string bytes = intact_;
  bytes[47] = '\x7f';  // The schema's format, of four.
  const absl::Status status = OpenWith(bytes);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(JobStoreDamageTest, AVersionThatIsNotThatOfTheTablesIsFound) {
  for (const char version : {'\0', '\1'}) {
    std::string bytes = intact_;
    bytes[63] = version;  // Of PRAGMA user_version.
    const absl::Status status = OpenWith(bytes);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

// A flipped bit in the middle of a text goes unnoticed, SQLite's pages have no
// checksums; but whatever happens is a status, never a crash.
TEST_F(JobStoreDamageTest, FlippedBitsNeverCrash) {
  Rng rng(17);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bytes = intact_;
    for (uint64_t flips = 1 + rng.Below(8); flips > 0; --flips) {
      bytes[rng.Below(bytes.size())] ^= static_cast<char>(1 << rng.Below(8));
    }
    const absl::Status status = OpenWith(bytes);
    if (!status.ok()) {
      ++refused;
      EXPECT_TRUE(absl::IsDataLoss(status) ||
                  absl::IsFailedPrecondition(status))
          << status;
      continue;
    }
    const auto store = OpenStore(path_);
    const auto jobs = store->LoadJobs();
    EXPECT_TRUE(jobs.ok() || absl::IsDataLoss(jobs.status())) << jobs.status();
    const auto decisions = store->ListDecisions("uid-j0", 0, 1000);
    EXPECT_TRUE(decisions.ok() || absl::IsDataLoss(decisions.status()))
        << decisions.status();
  }
  EXPECT_GT(refused, 0);
}

TEST_F(JobStoreDamageTest, TheIntactFileOpensAgain) {
  EXPECT_TRUE(OpenWith(intact_).ok());
}

TEST(JobStorePathTest, AMissingDirectoryIsNotFound) {
  const TestFolder directory;
  const absl::Status status =
      JobStore::Open(directory.Path("none/store.db")).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST(JobStorePathTest, ADirectoryIsNoFile) {
  const TestFolder directory;
  const std::string path = directory.Path("folder");
  std::filesystem::create_directory(path);
  const absl::Status status = JobStore::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

// Root may write everything; in a scope of this it is somebody who may not.
class NotRoot {
 public:
  NotRoot() {
    if (user_ == 0) CHECK(seteuid(kNobody) == 0);
  }
  ~NotRoot() {
    if (user_ == 0) CHECK(seteuid(user_) == 0);
  }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  const uid_t user_ = geteuid();
};

TEST(JobStorePathTest, AFileThatMayNotBeWrittenSaysSo) {
  const NotRoot not_root;
  const TestFolder directory;
  const std::string path = directory.Path("store.db");
  OpenStore(path);
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  const absl::Status status = JobStore::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("may not be written"));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(JobStore::Open(path).ok());
}

}  // namespace
}  // namespace paceline
