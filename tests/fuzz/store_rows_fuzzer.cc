// Messages that the coordinator's store holds, read back.

#include <sqlite3.h>

#include "services/coordinator/jobs/job_filter.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/store/job_store.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

constexpr char kUid[] = "uid";

// The store, and a second way into its file: the store itself writes only what
// can be read.
struct Store {
  ScratchFolder folder;
  std::unique_ptr<JobStore> store;
  sqlite3* raw = nullptr;

  Store() {
    const std::string path = folder.path() + "/store.db";
    store = *JobStore::Open(path);
    CHECK(sqlite3_open(path.c_str(), &raw) == SQLITE_OK);
    Run("PRAGMA synchronous = OFF", "");
    Run("PRAGMA foreign_keys = ON", "");  // A job's rows go with it.
  }
  ~Store() { sqlite3_close(raw); }

  void Run(const char* sql, absl::string_view blob) const {
    sqlite3_stmt* statement = nullptr;
    CHECK(sqlite3_prepare_v2(raw, sql, -1, &statement, nullptr) == SQLITE_OK);
    if (sqlite3_bind_parameter_count(statement) > 0) {
      // Null would be no blob.
      sqlite3_bind_blob(statement, 1, blob.empty() ? "" : blob.data(),
                        static_cast<int>(blob.size()), SQLITE_STATIC);
    }
    const int code = sqlite3_step(statement);
    CHECK(code == SQLITE_DONE || code == SQLITE_ROW);
    sqlite3_finalize(statement);
  }
};

// A row that is no message is DATA_LOSS, any other comes back as it is.
template <class Messages>
void ExpectRead(const absl::StatusOr<Messages>& rows) {
  ExpectDataLoss(rows.status());
  if (rows.ok()) CHECK(rows->size() == 1);
}

// What is done with jobs and checkpoints once they are loaded.
void Use(const v1::Job& job) {
  static const JobFilter filter =
      *JobFilter::Parse("create_time > 2026-01-31 AND labels.a != b");
  filter.Matches(job);
}

void Use(const v1::Checkpoint& checkpoint) {
  NewestFirstKey(checkpoint.create_time(), checkpoint.name());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {
      MessageSeed<v1::Job>(R"(
            name: 'namespaces/a/jobs/j' uid: 'uid' state: PAUSED
            labels { key: 'a' value: 'b' } create_time { seconds: 1790000000 }
            spec { model: 'mlp' data: 'synthetic:tiny' })"),
      MessageSeed<v1::Decision>(
          "sequence: 1 seconds: 2 worker: 'w0' kind: 'worker-lost' text: 'x'"),
      MessageSeed<v1::AccuracyPoint>("seconds: 1 accuracy: 0.5 loss: nan"),
      MessageSeed<v1::Checkpoint>(R"(
            name: 'namespaces/a/jobs/j/checkpoints/c' state: READY bytes: 7
            create_time { seconds: -9223372036854775808 nanos: -2147483648 })"),
      MessageSeed<v1::AuditRecord>("sequence: 1"),
      "\xff"};
}

void FuzzOne(absl::string_view input) {
  static const Store store;
  store.Run("BEGIN", "");
  store.Run("DELETE FROM jobs", "");
  store.Run("DELETE FROM audit_records", "");
  store.Run("INSERT INTO jobs VALUES ('uid', 'name', ?)", input);
  store.Run("INSERT INTO decisions VALUES ('uid', 1, ?)", input);
  store.Run("INSERT INTO accuracy_points VALUES ('uid', 1, ?)", input);
  store.Run("INSERT INTO checkpoints VALUES ('name', 'uid', 7, ?)", input);
  store.Run("INSERT INTO reports VALUES ('uid', ?)", input);
  store.Run("INSERT INTO audit_records (proto) VALUES (?)", input);
  store.Run("COMMIT", "");

  const auto jobs = store.store->LoadJobs();
  ExpectRead(jobs);
  if (jobs.ok()) Use(jobs->front());
  ExpectRead(store.store->ListDecisions(kUid, 0, 10));
  ExpectRead(store.store->ListAccuracyPoints(kUid, 0, 10));
  const auto checkpoints = store.store->ListCheckpoints(kUid);
  ExpectRead(checkpoints);
  if (checkpoints.ok()) Use(checkpoints->front());
  ExpectRead(store.store->ListAuditRecords(0, 10));
  const auto report = store.store->GetReport(kUid);
  CHECK(report.ok() && report->has_value() && **report == input);
}

}  // namespace paceline
