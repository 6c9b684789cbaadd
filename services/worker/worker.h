#ifndef PACELINE_SERVICES_WORKER_WORKER_H_
#define PACELINE_SERVICES_WORKER_WORKER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/log/told_log.h"
#include "common/rpc/coordinator_addresses.h"
#include "services/worker/computation_source.h"
#include "services/worker/control_stream.h"
#include "services/worker/device_turns.h"
#include "services/worker/dial.h"
#include "services/worker/pace/pace_spec.h"
#include "services/worker/parameter_client.h"
#include "services/worker/task.h"
#include "services/worker/worker_metrics.h"

namespace paceline {

// A worker or evaluator: registers, then takes part in one job after the other
// as it is assigned. One that is given up, or whose coordinator is gone for
// long, registers anew.
//
// Each assignment ends with exactly one of `failed` and `leaving`, unless the
// session is over before. After `failed` the worker is free: a `stop` that
// crosses it is not answered.
class Worker {
 public:
  struct Options {
    std::string coordinator;  // CoordinatorAddresses
    v1::WorkerHello hello;    // The name, what it can do, where it runs.
    PaceSpec pace;
    TaskHost host;
    // Computes in place of what is built in; null: nothing does. Outlives the
    // worker.
    ComputationSource* source = nullptr;
    // Where several workers have the same devices; null: they are its own.
    // Outlives the worker.
    DeviceTurns* turns = nullptr;
    // How long it tries to reach a coordinator in vain; zero: for ever.
    absl::Duration patience;
    // How long it keeps its part in a job without a coordinator; no longer than
    // its patience.
    absl::Duration orphan = kDefaultOrphan;
    Dial dial = DialPlainly;
    // Called when the coordinator has taken the worker in (OK), and when that
    // is over, or while its link is broken: why. With UNAVAILABLE, for the last
    // time, by Leave() or Drop(): what is in hand may take long, and nothing
    // new comes to it. Calls are one at a time, on any thread, and must not
    // call the worker.
    std::function<void(const absl::Status&)> registration =
        [](const absl::Status&) {};
    // What those get who want to read the worker's log; null: nothing.
    LogTeller tell_log = nullptr;
  };
  // `metrics` outlives the worker.
  Worker(const Options& options, WorkerMetrics* metrics);

  // Works until Leave(): OK. Otherwise why it cannot go on: UNAVAILABLE, or
  // whatever the last attempt came to, if no coordinator has taken it for
  // `patience`; INVALID_ARGUMENT if the coordinator refuses what it says of
  // itself; UNIMPLEMENTED if that is no coordinator; the device's own error if
  // it computes no more. Credentials may be renewed while it runs, so one that
  // may not register tries again. Call it once.
  absl::Status Run();

  // Makes Run() finish its iteration, take leave and return; at once when it
  // has none, and as soon as it is loaded when a task is being prepared. Safe
  // from any thread.
  void Leave();

  // Leaves, and drops the iteration in hand: nothing is waited for but
  // what is being computed. Safe from any thread.
  void Drop();

 private:
  using Outcome = WorkerMetrics::AssignmentOutcome;

  // One session, from hello to its end: why it ended.
  absl::Status RunSession();
  absl::Status Register(ControlStream& control);
  absl::Status TakeAssignments(ControlStream& control);
  // One assignment. OK: it has ended, and the coordinator knows.
  absl::Status RunAssignment(ControlStream& control,
                             const v1::Assignment& assignment);
  // Up to its `stop` (kStopped) or what made it impossible, which is told
  // (kFailed).
  absl::StatusOr<Outcome> TakePart(ControlStream& control,
                                   const v1::Assignment& assignment);
  // The assignment's task, until the next one's.
  absl::StatusOr<Task*> Prepare(ControlStream& control,
                                const v1::Assignment& assignment);
  // An assignment's computation is broken, which is told.
  Outcome GiveUp(ControlStream& control, Task& task);
  // Whether the devices that tasks are to be prepared on are there still.
  absl::Status CheckDevice() const;
  absl::Status Begin(ControlStream& control, const v1::BeginJob& begin,
                     ParameterClient& parameters, Task& task);
  absl::Status FollowCommands(ControlStream& control, Task& task,
                              ParameterClient& parameters);
  // The coordinator has ended the assignment.
  Outcome Stopped(const v1::Stop& stop);
  // The next command; CANCELLED once Leave() was called.
  absl::StatusOr<v1::WorkerCommand> NextCommand(ControlStream& control);

  // The stream that Drop() interrupts.
  void Attach(ControlStream* control);
  bool leaving();
  // Nothing any more once it leaves.
  void TellRegistration(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  void BeginToLeave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False if Leave() was called before.
  bool Sleep(absl::Duration time);

  const Options options_;
  // Of all its sessions, so that each attempt goes to the next one.
  const std::shared_ptr<CoordinatorAddresses> addresses_ =
      std::make_shared<CoordinatorAddresses>(options_.coordinator);
  const std::shared_ptr<KnownTerm> term_ = std::make_shared<KnownTerm>();
  WorkerMetrics* const metrics_;
  TaskCache tasks_;
  std::unique_ptr<Task> foreign_task_;  // Of options_.source.
  v1::Stop stop_;                       // Of the latest assignment.
  absl::Status device_lost_;            // Nothing can be computed any more.
  bool registered_ = false;             // In the present session.
  bool unacknowledged_ = false;         // The last iteration's push.

  std::atomic<bool> dropped_ = false;

  absl::Mutex mu_;
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;
  ControlStream* control_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_WORKER_H_
