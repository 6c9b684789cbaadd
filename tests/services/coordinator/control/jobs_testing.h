#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_JOBS_TESTING_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_JOBS_TESTING_H_

#include <prometheus/registry.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"
#include "tests/common/metrics/exposition.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/control/fleet_server.h"
#include "tests/services/coordinator/control/fleet_worker.h"
#include "tests/services/coordinator/control/job_watcher.h"
#include "tests/services/coordinator/run/manual_clock.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {

// All jobs of a cluster with a store of its own, members whose streams the test
// holds, and a lease of ten seconds that pass only when the test says so. A
// test may set `options_` and then calls Start().
class JobsTest : public ::testing::Test {
 protected:
  ~JobsTest() override { End(); }

  void Start();
  void StartWithMembers() {
    Start();
    AddMembers();
  }
  // Starts with one server and one worker, and lets them train a job.
  std::string StartAndRun(const std::string& id) {
    StartWithMembers();
    return Run(id);
  }
  // As if the process were killed and started again; its members are gone.
  void Restart();
  // Now, not when the test is over.
  void End();
  // Runs have journals. Before Start().
  void KeepJournals();
  Jobs& jobs() { return *jobs_; }

  // `max_bytes`: what it has room for; 0: it does not say.
  FleetServer& AddServer(const std::string& name, uint64_t max_bytes = 0);
  FleetServer& AddServer(const v1::ServerHello& hello);
  FleetWorker& AddWorker(const std::string& name, bool evaluator = false);
  FleetWorker& AddWorker(const v1::WorkerHello& hello);
  // One server and one worker, s0 and w0.
  void AddMembers();
  FleetServer& server() { return *servers_.front(); }
  FleetWorker& worker(size_t i = 0) { return *workers_.at(i); }
  size_t workers() const { return workers_.size(); }

  // For one worker, one server and a million epochs, without evaluation. A
  // test may change it before it is created.
  static v1::CreateJobRequest Request(const std::string& id);
  // The job's name.
  std::string Create(const v1::CreateJobRequest& request);
  std::string Create(const std::string& id) { return Create(Request(id)); }
  v1::Job Get(const std::string& job);
  std::unique_ptr<JobWatcher> Watch(const std::string& job);
  // Until its workers have grants.
  void AwaitTraining(const std::string& job);
  // Creates it and lets it train.
  std::string Run(const std::string& id);
  // A checkpoint of that id is begun; its name.
  std::string BeginCheckpoint(const std::string& job, const std::string& id);
  // It is written and READY.
  std::string SaveCheckpoint(const std::string& job, const std::string& id);
  absl::StatusOr<v1::Job> Pause(const std::string& job);
  absl::StatusOr<v1::Job> Resume(const std::string& job);
  absl::StatusOr<v1::Job> Cancel(const std::string& job);
  // From the newest, or from that one.
  absl::StatusOr<v1::Job> Restore(const std::string& job,
                                  const std::string& checkpoint = "");

  // Since the call the thread has looked at everything.
  void AwaitTurn();
  // Since that job was created it has looked at everything.  REQUIRES: nobody
  // can work for the job.
  void AwaitLook(const std::string& job);

  // Writes are UNAVAILABLE in between, as while another program has the file.
  void HoldStore();
  void ReleaseStore();
  std::string StorePath() const { return directory_.Path("jobs.db"); }
  // Of a counter or gauge without labels.
  double Metric(const std::string& name);
  // Everything that the process exports.
  prometheus::Registry& registry() { return *registry_; }
  Exposition Scrape() { return Exposition(registry_->Collect()); }
  // Scrapes once a turn until `wanted` holds; the test fails, and says `what`,
  // if it never does. The last one.
  Exposition AwaitScrape(const std::string& what,
                         const std::function<bool(const Exposition&)>& wanted);
  // The job as it is stored.
  v1::Job Stored(const std::string& job);
  // Where the journal of its run is.
  std::string JournalOf(const std::string& job);
  // Until so many are counted.
  void AwaitSamples(const std::string& job, int64_t samples);

  JobsOptions options_;
  bool keeps_checkpoints_ = true;
  JournalOptions journal_options_ = {.retry_delay = absl::Milliseconds(1)};
  // Gets the history in place of the jobs' own store, where none of it then
  // arrives: as if it waited for the disk all the time. Before Start().
  JobStore* history_store_ = nullptr;
  ManualClock clock_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<JobJournal> journal_;

 private:
  const TestFolder directory_;
  std::unique_ptr<prometheus::Registry> registry_;
  std::unique_ptr<Jobs> jobs_;
  std::vector<std::unique_ptr<FleetServer>> servers_;
  std::vector<std::unique_ptr<FleetWorker>> workers_;
  std::unique_ptr<Database> holder_;
  int turns_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_JOBS_TESTING_H_
