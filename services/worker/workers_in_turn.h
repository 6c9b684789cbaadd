#ifndef PACELINE_SERVICES_WORKER_WORKERS_IN_TURN_H_
#define PACELINE_SERVICES_WORKER_WORKERS_IN_TURN_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "services/worker/computation_source.h"
#include "services/worker/device_turns.h"
#include "services/worker/worker.h"
#include "services/worker/worker_metrics.h"

namespace paceline {

// One process as several workers that compute in turn on the same devices:
// while one computes, pushes and pulls of the others are under way. HetPipe's
// virtual workers and OSP hide them in the same way. To the coordinator each is
// a member, so its rules hold for every iteration in flight: what bounds
// staleness with N workers bounds it here with their sum.
class WorkersInTurn {
 public:
  // One worker for each of `sources`, whose elements may be null
  // (Worker::Options::source). Each has `options`, but for its name
  // (NameInFlight()). `registration` gets the status of the first one that is
  // not registered, else OK. `metrics` outlives this, and is for all of them.
  WorkersInTurn(const Worker::Options& options,
                const std::vector<ComputationSource*>& sources,
                WorkerMetrics* metrics);

  // Worker::Run() of all. Once one of them cannot go on the others leave, too,
  // and its error is returned.
  absl::Status Run();
  // Those of every worker.
  void Leave();
  void Drop();

 private:
  // Of the worker `index`.
  void TellRegistration(size_t index, const absl::Status& status);

  const std::function<void(const absl::Status&)> registration_;
  absl::Mutex mu_;
  std::vector<absl::Status> registered_ ABSL_GUARDED_BY(mu_);

  DeviceTurns turns_;
  std::vector<std::unique_ptr<Worker>> workers_;  // They use the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_WORKERS_IN_TURN_H_
