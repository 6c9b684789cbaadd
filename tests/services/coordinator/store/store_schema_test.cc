#include "services/coordinator/store/store_schema.h"

#include <string>

#include "gmock/gmock.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Database OpenDatabase(const std::string& path) {
  auto database = Database::Open(path);
  EXPECT_TRUE(database.ok()) << database.status();
  return *std::move(database);
}

absl::Status Change(const std::string& path, const char* sql) {
  Database database = OpenDatabase(path);
  return database.Execute(sql);
}

TEST(StoreSchemaTest, AFileOfVersionOneIsUpgraded) {
  const TestDirectory directory;
  const std::string path = directory.Path("store.db");
  {
    Database old = OpenDatabase(path);
    ASSERT_TRUE(Migrate(old, StoreMigrations().first(1)).ok());
    EXPECT_EQ(*old.Number("PRAGMA user_version"), 1);
    auto put = old.Use("INSERT INTO jobs (uid, name, proto) VALUES (?, ?, ?)");
    ASSERT_TRUE(put.ok()) << put.status();
    const v1::Job job = JobNamed("a");
    put->Text(job.uid()).Text(job.name()).Blob(job.SerializeAsString());
    ASSERT_TRUE(put->Run().ok());
  }
  {
    const auto store = OpenStore(path);
    ASSERT_THAT(*store->LoadJobs(), SizeIs(1));
    EXPECT_EQ(store->LoadJobs()->at(0).uid(), "uid-a");
    // What version 2 brought.
    EXPECT_TRUE(store->AppendAuditRecord({}).ok());
  }
  Database upgraded = OpenDatabase(path);
  EXPECT_EQ(*upgraded.Number("PRAGMA user_version"), 2);
}

TEST(StoreSchemaTest, AStepThatFailsLeavesTheVersionBefore) {
  Database database = OpenDatabase(":memory:");
  const char* const steps[] = {
      "CREATE TABLE one (x)",
      "CREATE TABLE two (x); CREATE TABLE one (x)",
  };
  const absl::Status status = Migrate(database, steps);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("upgrade to version 2"));
  EXPECT_EQ(*database.Number("PRAGMA user_version"), 1);
  EXPECT_EQ(*database.Number("SELECT COUNT(*) FROM sqlite_master"), 1);
}

TEST(StoreSchemaTest, ANewerFileIsLeftAlone) {
  const TestDirectory directory;
  const std::string path = directory.Path("store.db");
  OpenStore(path);
  ASSERT_TRUE(Change(path, "PRAGMA user_version = 99").ok());
  const absl::Status status = JobStore::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 99"));
  Database database = OpenDatabase(path);
  EXPECT_EQ(*database.Number("PRAGMA user_version"), 99);
}

TEST(StoreSchemaTest, AnotherProgramsDatabaseIsLeftAlone) {
  const TestDirectory directory;
  const std::string path = directory.Path("other.db");
  ASSERT_TRUE(Change(path, "CREATE TABLE songs (title)").ok());
  const absl::Status status = JobStore::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another program"));
  Database database = OpenDatabase(path);
  EXPECT_EQ(*database.Number("SELECT COUNT(*) FROM sqlite_master"), 1);
}

}  // namespace
}  // namespace paceline
