#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_JOB_RUN_TESTING_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_JOB_RUN_TESTING_H_

#include <prometheus/registry.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/job_run.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/run/fake_job_server.h"
#include "tests/services/coordinator/run/fake_worker.h"
#include "tests/services/coordinator/run/manual_clock.h"
#include "tests/services/coordinator/run/recording_observer.h"

namespace paceline {

// A job of two workers and two servers over 40 samples, ten to a push, without
// evaluation.
v1::JobSpec SmallJob();

// One run with its own clock, observer and members; its lease of ten seconds
// passes only when the test says so. A test sets `spec_` and `setup_`, calls
// MakeJob(), lets workers come, and calls RunJob().
class JobRunTest : public ::testing::Test {
 protected:
  ~JobRunTest() override;

  // With its servers s0, s1, ..., whose numbers in the fleet are 100, 101, ...
  void MakeJob();
  // The job begins.
  void RunJob();
  // Waits for the end of RunJob(), and until the servers have done everything.
  const RunOutcome& Outcome();
  // Forgets that run and everybody in it; MakeJob() makes another.
  void EndRun();
  // The run has a journal from now on.
  void KeepJournal() { setup_.journal_file = files_.Path("run.journal"); }
  // The coordinator dies, and another one goes on with the run, if it can. The
  // workers are gone, and servers of the same names have registered.
  absl::Status Restart();

  FakeWorker& AddWorker(const std::string& name, bool evaluator = false);
  // The session that the workers of Assemble() have; id 0: none.
  SessionPoint session_;
  FakeWorker& worker(size_t i) { return *workers_.at(i); }
  FakeJobServer& server(size_t i) { return *servers_.at(i); }

  // Makes the job, adds workers w0 and w1, says that they are ready, and runs
  // it.
  void Assemble();
  // The same, then up to the first grant of each of the two.
  void StartTraining();
  std::vector<v1::Grant> first_grants() const { return first_grants_; }
  // All workers that were added work until they are told to stop.
  void WorkToTheEnd();

  // Checkpoints go to an empty folder of the test's own from now on.
  void KeepCheckpoints();
  // Waits until the checkpoint `id` is in that state, and returns it.
  v1::Checkpoint AwaitCheckpoint(const std::string& id,
                                 v1::Checkpoint::State state);
  std::string FolderOf(const std::string& id) const {
    return setup_.checkpoint_root + "/" + id;
  }

  RunHistory History() const { return observer_->History(); }
  // The run's report; null before the training.
  nlohmann::json Report() const;
  void AwaitPhase(const std::string& phase);
  // Waits until the run has told of its progress more often than that.
  void AwaitProgressBeyond(size_t told);
  // The values of that metric's series, of those with this value of a label.
  std::vector<double> Metric(const std::string& name,
                             const std::string& label = "") const;
  // Waits for a decision whose text begins so.
  void AwaitDecision(const std::string& text);

  v1::JobSpec spec_ = SmallJob();
  RunSetup setup_;
  std::atomic<bool> evaluator_exists_ = true;
  ManualClock clock_;
  std::shared_ptr<JobRun> job_;

 private:
  // Servers whose numbers in the fleet are from that on.
  void MakeServers(uint64_t first);
  void MakeObserver();

  const TestFolder files_;
  const TestFolder checkpoints_;
  prometheus::Registry registry_;
  std::shared_ptr<RecordingObserver> observer_;
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::vector<std::unique_ptr<FakeJobServer>> servers_;
  std::vector<v1::Grant> first_grants_;
  RunOutcome outcome_;
  bool started_ = false;
  std::unique_ptr<absl::Notification> over_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_JOB_RUN_TESTING_H_
