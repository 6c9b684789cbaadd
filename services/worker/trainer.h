#ifndef PACELINE_SERVICES_WORKER_TRAINER_H_
#define PACELINE_SERVICES_WORKER_TRAINER_H_

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "services/worker/computation.h"
#include "services/worker/control_stream.h"
#include "services/worker/iteration_signals.h"
#include "services/worker/pace/pace.h"
#include "services/worker/parameter_client.h"
#include "services/worker/pull_forecast.h"
#include "services/worker/task.h"
#include "services/worker/worker_metrics.h"

namespace paceline {

// Turns one grant after the other into pushes: pull, have it computed, push,
// tensor by tensor while the backward pass goes on if the plan is known and
// the last micro-batch was begun.
// Thread-compatible.
class Trainer {
 public:
  // All outlive the trainer.
  Trainer(Task* task, ParameterClient* parameters, ControlStream* control,
          const PaceSpec& pace, uint64_t pace_seed, WorkerMetrics* metrics);

  // One iteration, up to its PushDone, or to Abandoned if it is told so. OK
  // also if another command interrupted it before anything was pushed: nothing
  // is reported then, and the command waits in the control stream. Otherwise
  // the errors of ParameterClient; UNAVAILABLE also if a plan that was asked
  // for does not come; the computation's.
  absl::Status Run(const v1::Grant& grant);

  // That Run() is about to be called with that grant, from the thread that
  // hears of it while the trainer's own waits for it.
  void OrderEarly(const v1::Grant& grant);

  // Something of an iteration was pushed and not acknowledged: the servers may
  // have taken it or not. Only after an error of Run().
  bool unacknowledged() const { return unacknowledged_; }

 private:
  class Watch;

  StepOrder OrderOf(const v1::Grant& grant) const;
  absl::Status RunIteration(const v1::Grant& grant, IterationSignals& signals);
  // Nothing if the iteration was over before.
  absl::StatusOr<std::optional<StepOutcome>> PullAndCompute(
      const v1::Grant& grant, IterationSignals& signals, v1::PushDone& report);
  absl::Status PullWeights(const v1::Grant& grant, IterationSignals& signals,
                           v1::PushDone& report);
  // What the grant asks for, if it is on its way; nothing if it is not, or if
  // the servers would rather be asked again. `parked`: since the grant.
  std::optional<PullResult> TakeAhead(
      const v1::Grant& grant, const std::function<void(size_t)>& on_tensor);
  // `parts_before`: of an extended step.
  absl::StatusOr<std::optional<StepOutcome>> Compute(const v1::Grant& grant,
                                                     IterationSignals& signals,
                                                     v1::PushDone& report,
                                                     int parts_before = 0);
  // Sleeps as long as the imitated device would still compute. False if the
  // iteration is over.
  bool ImitateDevice(absl::Duration computed, uint32_t samples,
                     int costly_micro_batches, IterationSignals& signals);
  // The grant's plan, asked for if it is not there and there is something to
  // push. The step may have to be extended until there is a plan. Nothing if
  // the iteration was over before.
  absl::StatusOr<std::optional<v1::PushPlan>> PlanOf(const v1::Grant& grant,
                                                     StepOutcome& outcome,
                                                     IterationSignals& signals,
                                                     v1::PushDone& report);
  // And reports it.
  absl::Status Push(const v1::Grant& grant, const v1::PushPlan& plan,
                    const StepOutcome& outcome, v1::PushDone& report);
  // The last of an iteration: `report` is complete, and goes out.
  void Report(v1::PushDone& report);
  void Abandon(const v1::Grant& grant);
  void PushTensors(size_t first, size_t end);

  Task& task_;
  Computation& computation_;
  ParameterClient& parameters_;
  ControlStream& control_;
  WorkerMetrics& metrics_;
  const Clock& clock_ = Clock::Real();
  Pace pace_;
  // With an imitated device the push must not leave before that device would
  // have computed it, so nothing overlaps then.
  const bool imitating_;
  bool unacknowledged_ = false;
  PullForecast forecast_;
  std::optional<absl::Time> asked_ahead_;  // While such a pull is open.
  std::optional<absl::Time> pushed_at_;    // When the last PushDone was sent.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_TRAINER_H_
