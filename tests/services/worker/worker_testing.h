#ifndef PACELINE_TESTS_SERVICES_WORKER_WORKER_TESTING_H_
#define PACELINE_TESTS_SERVICES_WORKER_WORKER_TESTING_H_

#include <prometheus/registry.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/worker.h"
#include "services/worker/worker_metrics.h"
#include "tests/common/test_folder.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/fake_parameters.h"

namespace paceline {

// A worker on a thread of its own.
class RunningWorker {
 public:
  explicit RunningWorker(const std::string& coordinator, bool evaluator = false,
                         absl::Duration patience = absl::ZeroDuration(),
                         const TaskHost& host = {},
                         ComputationSource* source = nullptr,
                         const PaceSpec& pace = {});
  ~RunningWorker();

  void Leave() { worker_->Leave(); }
  void Drop() { worker_->Drop(); }
  // What Run() returned; DEADLINE_EXCEEDED if it does not.
  absl::Status AwaitEnd();
  bool ended() const { return ended_.HasBeenNotified(); }
  // What the worker has told of its registration.
  std::vector<absl::Status> Registrations() const;

  // The value of a series without labels, or with this one.
  double Metric(const std::string& name, const std::string& label = "") const;

 private:
  std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  WorkerMetrics metrics_{*registry_};
  std::optional<Worker> worker_;
  absl::Status status_;
  mutable absl::Mutex mu_;
  std::vector<absl::Status> registrations_ ABSL_GUARDED_BY(mu_);
  absl::Notification ended_;
  std::thread thread_;
};

// Of a small job, different ones for different `run`.
v1::Assignment AssignmentOf(uint64_t run,
                            const std::string& data = "synthetic:tiny");

// Assigns the job of AssignmentOf(run) to a worker that has none: loading,
// begin, and the starting weights.
void BeginJob(FakeSession& session, FakeParameters& parameters, uint64_t run);

// A data set whose loading waits for the test: a named pipe.
class SlowData {
 public:
  SlowData();
  ~SlowData();

  std::string spec() const;  // For JobSpec.data.
  // Waits until the worker has begun to load.
  void AwaitLoading();
  // Lets it finish: 64 images, or what is none.
  void Finish(bool well);

 private:
  const TestFolder folder_;
  int pipe_ = -1;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_WORKER_TESTING_H_
