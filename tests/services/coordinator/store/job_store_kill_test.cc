// kill -9 of a process that writes: what it said was written is there.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "services/coordinator/store/job_store.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

constexpr int kKills = 20;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

std::string IdOf(int64_t number) { return absl::StrCat("job", number); }

// A job's creation as the coordinator writes it, and its first decisions.
absl::Status Create(JobStore& store, int64_t number) {
  const v1::Job job = JobNamed(IdOf(number));
  v1::AuditRecord record;
  record.set_resource(job.name());
  const absl::Status status = store.Write(
      {.jobs = {job},
       .requests = {{"ann", IdOf(number), "digest", job.name(), kNow}},
       .audit_records = {record}});
  if (!status.ok()) return status;
  return store.Write({.decisions = {{job.uid(), DecisionNumbered(1)},
                                    {job.uid(), DecisionNumbered(2)}}});
}

// Creates jobs from `first` on until it is killed, and writes the number of
// each to `acks` once it is stored.
[[noreturn]] void WriteForEver(const std::string& path, int64_t first,
                               int acks) {
  auto store = JobStore::Open(path);
  for (int64_t number = first; store.ok(); ++number) {
    if (!Create(**store, number).ok()) break;
    if (write(acks, &number, sizeof(number)) != sizeof(number)) break;
  }
  _exit(1);
}

// Reads acknowledgements into `acked` until `pid`, killed after `kill_after` of
// them, has ended.
void KillAfter(pid_t pid, int acks, int64_t kill_after,
               std::set<int64_t>& acked) {
  int64_t number = 0;
  int64_t seen = 0;
  while (read(acks, &number, sizeof(number)) == sizeof(number)) {
    acked.insert(number);
    if (++seen == kill_after) {
      EXPECT_EQ(kill(pid, SIGKILL), 0);
    }
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      << "the writer ended by itself, with " << status;
}

// What was acknowledged must be there, and every job that is there must be
// whole. The number of jobs.
int64_t CheckAll(JobStore& store, const std::set<int64_t>& acked) {
  const auto jobs = store.LoadJobs();
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  std::set<std::string> uids;
  for (const v1::Job& job : *jobs) uids.insert(job.uid());
  for (const int64_t number : acked) {
    const std::string uid = absl::StrCat("uid-", IdOf(number));
    EXPECT_TRUE(uids.contains(uid)) << number;
    EXPECT_EQ(store.ListDecisions(uid, 0, 10)->size(), 2) << number;
  }
  // A creation that was never acknowledged is there in all its parts, or in
  // none; and of its decisions both, or none.
  const auto count = static_cast<int64_t>(jobs->size());
  EXPECT_EQ(store.ListAuditRecords(0, 100'000)->size(), jobs->size());
  for (int64_t number = 0; number < count; ++number) {
    const auto request = store.FindRequest("ann", IdOf(number), kNow);
    EXPECT_TRUE(request.ok() && request->has_value()) << number;
    const auto decisions =
        store.ListDecisions(absl::StrCat("uid-", IdOf(number)), 0, 10);
    EXPECT_TRUE(decisions->empty() || decisions->size() == 2) << number;
  }
  EXPECT_EQ(*store.FindRequest("ann", IdOf(count), kNow), std::nullopt);
  return count;
}

TEST(JobStoreKillTest, WhatWasAcknowledgedOutlivesEveryKill) {
  const TestFolder directory;
  const std::string path = directory.Path("store.db");
  Rng rng(4);
  int64_t next = 0;
  std::set<int64_t> acked;
  for (int round = 0; round < kKills && !HasFailure(); ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    int acks[2];
    ASSERT_EQ(pipe(acks), 0);
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      close(acks[0]);
      WriteForEver(path, next, acks[1]);
    }
    close(acks[1]);
    KillAfter(pid, acks[0], static_cast<int64_t>(1 + rng.Below(60)), acked);
    close(acks[0]);
    // Opening checks the file's integrity.
    const auto store = OpenStore(path);
    next = CheckAll(*store, acked);
  }
  EXPECT_GE(next, kKills);
}

}  // namespace
}  // namespace paceline
