#ifndef PACELINE_SERVICES_WORKER_WORKER_H_
#define PACELINE_SERVICES_WORKER_WORKER_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gpu/backend.h"
#include "services/worker/control_stream.h"
#include "services/worker/pace/pace_spec.h"
#include "services/worker/parameter_client.h"
#include "services/worker/task.h"
#include "services/worker/worker_metrics.h"

namespace paceline {

// A worker or evaluator: registers, prepares its task, follows commands. One
// that finds itself declared dead comes back as a new incarnation.
class Worker {
 public:
  struct Options {
    std::string coordinator;  // "host:port"
    std::string name;         // "w0"
    bool evaluator = false;
    PaceSpec pace;
    BackendOptions backend;
  };
  // `metrics` outlives the worker.
  Worker(const Options& options, WorkerMetrics* metrics)
      : options_(options), metrics_(metrics) {}

  // Works until the job ends or Leave(): OK. Otherwise why it cannot go on:
  // the task's error, or UNAVAILABLE if the coordinator cannot be reached.
  absl::Status Run();

  // Makes Run() finish or drop its iteration, take leave and return. Safe from
  // any thread.
  void Leave() { leaving_ = true; }

 private:
  // One life of the member. OK: the job has ended, or it has left.
  absl::Status RunIncarnation();
  absl::Status Register(ControlStream& control, v1::WorkerWelcome& welcome);
  absl::Status Prepare(ControlStream& control, const v1::JobSpec& job);
  absl::StatusOr<v1::BeginJob> AwaitBegin(ControlStream& control);
  absl::Status FollowCommands(ControlStream& control,
                              ParameterClient& parameters);
  // The next command; with nothing to come and Leave() called, `stop`.
  absl::StatusOr<v1::WorkerCommand> NextCommand(ControlStream& control);

  const Options options_;
  WorkerMetrics* const metrics_;
  std::atomic<bool> leaving_ = false;
  bool registered_ = false;     // In this incarnation.
  std::unique_ptr<Task> task_;  // Kept from one incarnation to the next.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_WORKER_H_
