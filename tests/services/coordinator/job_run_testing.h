#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_JOB_RUN_TESTING_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_JOB_RUN_TESTING_H_

#include <prometheus/registry.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/job_run.h"
#include "services/coordinator/reporter.h"
#include "tests/services/coordinator/fake_members.h"
#include "tests/services/coordinator/manual_clock.h"

namespace paceline {

// A job of two workers and two servers over 40 samples, ten to a push, without
// evaluation; its lease of ten seconds passes only when the test says so.
v1::JobSpec SmallJob();

// One job with its own clock, reports and members. A test sets `spec_`, calls
// MakeJob(), lets members come, and calls RunJob().
class JobRunTest : public ::testing::Test {
 protected:
  ~JobRunTest() override;

  void MakeJob();
  // Runs the job on a thread of its own.
  void RunJob();
  // Waits for the end of RunJob(), and until the servers have done everything.
  const absl::Status& Outcome();

  FakeWorker& AddWorker(const std::string& name, bool evaluator = false);
  FakeServer& AddServer(const std::string& name);
  FakeWorker& worker(size_t i) { return *workers_.at(i); }
  FakeServer& server(size_t i) { return *servers_.at(i); }

  // Makes the job, adds servers s0 and s1, adds workers w0 and w1, says that
  // they are ready, and runs it.
  void Assemble();
  // The same, then up to the first grant of each of the two.
  void StartTraining();
  std::vector<v1::Grant> first_grants() const { return first_grants_; }
  // All workers that were added work until they are told to stop.
  void WorkToTheEnd();

  // The report lines with that event so far; all of them after Outcome().
  std::vector<nlohmann::ordered_json> Reports(const std::string& event);
  // Waits for a report whose text field begins so.
  void AwaitReport(const std::string& event, const std::string& field,
                   const std::string& value);

  v1::JobSpec spec_ = SmallJob();
  ManualClock clock_;
  std::unique_ptr<JobRun> job_;

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  prometheus::Registry registry_;
  CoordinatorMetrics metrics_{registry_};
  std::unique_ptr<std::FILE, CloseFile> reports_{std::tmpfile()};
  Reporter reporter_{reports_.get()};
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::vector<std::unique_ptr<FakeServer>> servers_;
  std::vector<v1::Grant> first_grants_;
  absl::Status outcome_;
  std::thread running_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_JOB_RUN_TESTING_H_
