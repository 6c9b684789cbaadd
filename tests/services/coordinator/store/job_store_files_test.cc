// A store whose files somebody deletes, replaces or overwrites while it is
// open: it is noticed before anything is promised, and what is known is kept.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"
#include "services/coordinator/store/sqlite_database.h"
#include "services/coordinator/store/store_files.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const absl::Time kAsked = absl::FromUnixSeconds(1'700'000'000);

std::string BytesIn(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Writes into a file as a program does that knows nothing of SQLite, until the
// file system's clock, which ticks some hundred times a second, shows it.
void OverwriteInPlace(const std::string& path, const std::string& bytes,
                      size_t from = 0) {
  const auto before = fs::last_write_time(path);
  do {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(from));
    file << bytes;
    file.close();
    fs::resize_file(path, from + bytes.size());
  } while (fs::last_write_time(path) == before);
}

std::vector<std::string> UidsIn(JobStore& store) {
  std::vector<std::string> names;
  const auto jobs = store.LoadJobs();
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  for (const v1::Job& job : *jobs) names.push_back(job.uid());
  return names;
}

class JobStoreFilesTest : public ::testing::Test {
 protected:
  JobStoreFilesTest() {
    EXPECT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  }

  // What is refused now, with this reason: a promise, but no look at what was.
  void ExpectRefused(absl::string_view reason) {
    const absl::Status refused = store_->Write({.jobs = {JobNamed("new")}});
    EXPECT_EQ(ReasonOf(refused), reason) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(path_));
    EXPECT_EQ(ReasonOf(store_->DeleteJob("uid-a")), reason);
    EXPECT_EQ(ReasonOf(store_->FindRequest("ann", "r", kAsked).status()),
              reason);
    EXPECT_EQ(ReasonOf(store_->health()), reason);
  }

  // What has happened meanwhile is in the rescued file, and after the move that
  // the message asks for all is as it was.
  void ExpectRescued() {
    ExpectRefused("STORE_GONE");
    const std::string rescue = StoreFiles::NewestRescue(path_);
    ASSERT_THAT(rescue, Not(IsEmpty()));
    EXPECT_THAT(std::string(store_->health().message()),
                AllOf(HasSubstr(rescue), HasSubstr("stop the coordinator")));
    ASSERT_TRUE(
        store_->Record({.decisions = {{"uid-a", DecisionNumbered(1)}}}).ok());
    store_->Check();
    ExpectRefused("STORE_GONE");
    EXPECT_THAT(UidsIn(*store_), ElementsAre("uid-a"));
    store_.reset();
    fs::rename(rescue, path_);
    store_ = OpenStore(path_);
    EXPECT_THAT(UidsIn(*store_), ElementsAre("uid-a"));
    EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 1);
    EXPECT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
    EXPECT_TRUE(store_->health().ok());
  }

  // All is in FILE, nothing in FILE-wal.
  void Reopen() {
    store_.reset();
    store_ = OpenStore(path_);
  }

  const TestFolder directory_;
  const std::string path_ = directory_.Path("store.db");
  std::unique_ptr<JobStore> store_ = OpenStore(path_);
};

TEST_F(JobStoreFilesTest, DeletedWithAllThatIsBesideIt) {
  for (const char* end : {"", "-wal", "-shm", ".lock"}) {
    fs::remove(path_ + end);
  }
  ExpectRescued();
}

TEST_F(JobStoreFilesTest, DeletedAlone) {
  fs::remove(path_);
  ExpectRescued();
}

TEST_F(JobStoreFilesTest, OnlyItsLogDeleted) {
  fs::remove(path_ + "-wal");
  ExpectRescued();
}

TEST_F(JobStoreFilesTest, MovedAway) {
  fs::rename(path_, path_ + ".old");
  ExpectRescued();
}

TEST_F(JobStoreFilesTest, ReplacedByABackupWhichStaysAsItIs) {
  Reopen();
  fs::copy_file(path_, directory_.Path("backup.db"));
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
  fs::rename(directory_.Path("backup.db"), path_);
  ExpectRefused("STORE_GONE");
  ASSERT_TRUE(
      store_->Record({.decisions = {{"uid-b", DecisionNumbered(1)}}}).ok());
  // Who starts with it gets it as it was, without the log of the other.
  Reopen();
  EXPECT_THAT(UidsIn(*store_), ElementsAre("uid-a"));
}

TEST_F(JobStoreFilesTest, ARescuedFileIsReadByNobodyElse) {
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  Reopen();
  fs::remove(path_);
  ExpectRefused("STORE_GONE");
  EXPECT_EQ(fs::status(StoreFiles::NewestRescue(path_)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(JobStoreFilesTest, ARescuedFileWaitsForAPerson) {
  fs::remove(path_);
  ExpectRefused("STORE_GONE");
  const std::string rescue = StoreFiles::NewestRescue(path_);
  store_.reset();
  const absl::Status refused = JobStore::Open(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(rescue));
  fs::remove(rescue);
  EXPECT_THAT(UidsIn(*OpenStore(path_)), IsEmpty());
}

TEST_F(JobStoreFilesTest, NoticedWithoutARequest) {
  fs::remove(path_);
  store_->Check();
  EXPECT_EQ(ReasonOf(store_->health()), "STORE_GONE");
}

TEST_F(JobStoreFilesTest, TheJournalLooksWhileItHasNothingToWrite) {
  const JobJournal journal(store_.get(), {.look_every = absl::Milliseconds(1)});
  fs::remove(path_);
  while (store_->health().ok()) std::this_thread::yield();
  EXPECT_EQ(ReasonOf(store_->health()), "STORE_GONE");
}

TEST_F(JobStoreFilesTest, AwayWithItsFolderItIsKeptAsSoonAsItIsBack) {
  const std::string folder = fs::path(path_).parent_path();
  fs::rename(folder, folder + ".away");
  ExpectRefused("STORE_GONE");
  const StoreBatch batch = {.decisions = {{"uid-a", DecisionNumbered(1)}}};
  EXPECT_EQ(ReasonOf(store_->Record(batch)), "STORE_GONE");
  EXPECT_THAT(std::string(store_->health().message()),
              HasSubstr("could not be saved"));
  fs::rename(folder + ".away", folder);
  EXPECT_TRUE(store_->Record(batch).ok());
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
  EXPECT_TRUE(store_->health().ok());
}

TEST_F(JobStoreFilesTest, FoundThroughALink) {
  const std::string link = directory_.Path("link.db");
  store_.reset();
  fs::create_symlink(path_, link);
  store_ = OpenStore(link);
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
  fs::remove(link);
  EXPECT_EQ(ReasonOf(store_->Write({.jobs = {JobNamed("c")}})), "STORE_GONE");
}

TEST_F(JobStoreFilesTest, NoiseInIt) {
  Reopen();
  const size_t size = fs::file_size(path_);
  OverwriteInPlace(path_, std::string(size - 4096, '\xa5'), 4096);
  const std::string noise = BytesIn(path_);
  const absl::Status refused = store_->Write({.jobs = {JobNamed("b")}});
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  ExpectRefused("STORE_DAMAGED");
  const StoreBatch batch = {.decisions = {{"uid-a", DecisionNumbered(1)}}};
  EXPECT_EQ(ReasonOf(store_->Record(batch)), "STORE_DAMAGED");
  store_.reset();
  EXPECT_EQ(BytesIn(path_), noise);
}

TEST_F(JobStoreFilesTest, CutToNothing) {
  Reopen();
  OverwriteInPlace(path_, "");
  ExpectRefused("STORE_DAMAGED");
}

TEST_F(JobStoreFilesTest, NoiseInItsLog) {
  const std::string log = path_ + "-wal";
  constexpr size_t kFirstPage = 32 + 24;
  OverwriteInPlace(log, std::string(fs::file_size(log) - kFirstPage, '\xa5'),
                   kFirstPage);
  ExpectRefused("STORE_DAMAGED");
}

// An open connection reads on as if nothing were wrong; a restart takes nothing
// from there on.
TEST_F(JobStoreFilesTest, AChecksumInItsLog) {
  const std::string log = path_ + "-wal";
  constexpr size_t kFirstChecksum = 32 + 16;
  std::string rest = BytesIn(log).substr(kFirstChecksum);
  rest.replace(0, 8, 8, '\xa5');
  OverwriteInPlace(log, rest, kFirstChecksum);
  ExpectRefused("STORE_DAMAGED");
}

TEST_F(JobStoreFilesTest, ItsLogCutShort) {
  const std::string log = path_ + "-wal";
  OverwriteInPlace(log, BytesIn(log).substr(0, fs::file_size(log) / 2));
  ExpectRefused("STORE_DAMAGED");
}

TEST_F(JobStoreFilesTest, ItsLogCutToNothing) {
  OverwriteInPlace(path_ + "-wal", "");
  ExpectRefused("STORE_DAMAGED");
}

// What a restart would read is in the log, and so nothing is lost.
TEST_F(JobStoreFilesTest, NoiseOverWhatIsInTheLogIsHarmless) {
  ASSERT_GT(fs::file_size(path_ + "-wal"), fs::file_size(path_));
  const std::string copy = directory_.Path("copy.db");
  OverwriteInPlace(path_, std::string(4096, '\xa5'), 0);
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
  fs::copy_file(path_, copy);
  fs::copy_file(path_ + "-wal", copy + "-wal");
  EXPECT_THAT(UidsIn(*OpenStore(copy)), ElementsAre("uid-a", "uid-b"));
}

TEST_F(JobStoreFilesTest, ABackupThatIsCopiedOverItStaysAsItIs) {
  Reopen();
  const std::string backup = BytesIn(path_);
  StoreBatch many;
  for (int i = 0; i < 200; ++i) {
    many.jobs.push_back(JobNamed(absl::StrCat("many", i)));
  }
  ASSERT_TRUE(store_->Write(many).ok());
  Reopen();
  // Of the pages in the log none may come into the backup.
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("last")}}).ok());
  OverwriteInPlace(path_, backup);
  ExpectRefused("STORE_DAMAGED");
  Reopen();
  EXPECT_THAT(UidsIn(*store_), ElementsAre("uid-a"));
}

TEST_F(JobStoreFilesTest, WhatOthersDoByRightIsNoDamage) {
  Reopen();
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
  {  // Backup programs do this.
    Database other = *Database::Open(path_);
    ASSERT_TRUE(other.Execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  }
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("c")}}).ok());
  fs::last_write_time(path_, fs::file_time_type::clock::now());
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("d")}}).ok());
  {  // Some have a table of their own, and begin the log anew with it.
    Database other = *Database::Open(path_);
    ASSERT_TRUE(other
                    .Execute("PRAGMA wal_checkpoint(TRUNCATE);"
                             "CREATE TABLE marks (number)")
                    .ok());
  }
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("e")}}).ok());
  EXPECT_TRUE(store_->health().ok());
}

TEST_F(JobStoreFilesTest, ItsOwnCheckpointsAreNoDamage) {
  const size_t before = fs::file_size(path_);
  v1::Job job = JobNamed("b");
  for (int i = 0; i < 40; ++i) {
    (*job.mutable_labels())["padding"] = std::string(200'000, 'a' + i % 26);
    ASSERT_TRUE(store_->Write({.jobs = {job}}).ok()) << i;
  }
  EXPECT_GT(fs::file_size(path_), before);
  EXPECT_TRUE(store_->health().ok());
}

// A limit on this process's files stands for a full disk.
class FullDisk {
 public:
  // `most`: bytes that a file may have.
  explicit FullDisk(rlim_t most = 0) : ignored_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit = {.rlim_cur = most, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, ignored_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*const ignored_)(int);
  rlimit before_ = {};
};

TEST_F(JobStoreFilesTest, UnhealthyUntilSomethingCanBeWrittenAgain) {
  {
    const FullDisk full;
    EXPECT_FALSE(store_->Write({.jobs = {JobNamed("b")}}).ok());
    EXPECT_FALSE(store_->health().ok());
    EXPECT_THAT(std::string(store_->health().message()), HasSubstr(path_));
    store_->Check();
    EXPECT_FALSE(store_->health().ok());
  }
  store_->Check();
  EXPECT_TRUE(store_->health().ok()) << store_->health();
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
}

// Or it would take the room that whatever is written next needs.
TEST_F(JobStoreFilesTest, ACopyForAStandbyThatFindsNoRoomLeavesNothing) {
  v1::Job job = JobNamed("b");
  (*job.mutable_labels())["padding"] = std::string(1'000'000, 'a');
  ASSERT_TRUE(store_->Write({.jobs = {job}}).ok());
  {
    const FullDisk full(500'000);
    const absl::Status copied = store_->AppendAll(1);
    EXPECT_FALSE(copied.ok());
    EXPECT_FALSE(fs::exists(absl::StrCat(path_, ".copy"))) << copied;
  }
  EXPECT_TRUE(store_->Write({.jobs = {JobNamed("c")}}).ok());
}

TEST_F(JobStoreFilesTest, WhatACallerDoesWrongIsNoMatterOfHealth) {
  v1::Job other = JobNamed("a");
  other.set_uid("uid-other");
  EXPECT_FALSE(store_->Write({.jobs = {other}}).ok());
  EXPECT_TRUE(store_->health().ok());
}

}  // namespace
}  // namespace paceline
