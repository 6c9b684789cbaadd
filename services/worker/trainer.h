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
#include "services/worker/device_turns.h"
#include "services/worker/grant_forecast.h"
#include "services/worker/iteration_signals.h"
#include "services/worker/pace/pace.h"
#include "services/worker/parameter_client.h"
#include "services/worker/task.h"
#include "services/worker/worker_metrics.h"

namespace paceline {

// Turns one grant after the other into pushes: pull, have it computed, push,
// tensor by tensor while the backward pass goes on if the plan is known and
// the last micro-batch was begun.
//
// Where the next grant can be foretold, its weights are asked for behind the
// push, and its step is begun as they come, if whoever computes can do that:
// then nobody waits for the coordinator. It is pushed once the grant is there,
// and comes to nothing if that is another.
// Thread-compatible.
class Trainer {
 public:
  // All outlive the trainer. With `turns` each step waits for one once its
  // weights are there; null: the devices are its own.
  Trainer(Task* task, ParameterClient* parameters, ControlStream* control,
          const PaceSpec& pace, uint64_t pace_seed, WorkerMetrics* metrics,
          DeviceTurns* turns);
  // A step that was begun without a grant is over with the job: nobody tells
  // the program, which will hear of that.
  ~Trainer() {
    if (begun_ahead_.has_value()) parameters_.DropAhead();
  }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // One iteration, up to its PushDone, or to Abandoned if it is told so. OK
  // also if another command interrupted it before anything was pushed: nothing
  // is reported then, and the command waits in the control stream. Otherwise
  // the errors of ParameterClient; UNAVAILABLE also if a plan that was asked
  // for does not come; the computation's.
  absl::Status Run(const v1::Grant& grant);

  // That Run() is about to be called with that grant, from the thread that
  // hears of it while the trainer's own waits for it.
  void OrderEarly(const v1::Grant& grant);

  // Something else has come than a grant: a step that was begun without one
  // comes to nothing.
  void DropAhead();
  // The samples that a grant has reserved are withdrawn.
  void DropReserved();

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
  // The next grant's step, once its weights were asked for: from the thread
  // that hears of the push.
  void BeginAhead();
  // What the grant asks for, if it is on its way; nothing if it is not, or if
  // the servers would rather be asked again. `parked`: since the grant.
  std::optional<PullResult> TakeAhead(
      const v1::Grant& grant, const std::function<void(size_t)>& on_tensor);
  std::function<void(size_t)> OnTensor();
  // Waits for the devices, which is time of `compute`. False if the iteration
  // is over before.
  bool BeginTurn(IterationSignals& signals, v1::PushDone& report);
  // Of such a step, what of its computing was before its grant goes from `wait`
  // to `compute`.
  void CountAhead(const StepOutcome& outcome, v1::PhaseSeconds& seconds);
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
  // Nobody knows ahead when its turn comes, so no step begins before its
  // weights are all there.
  const bool takes_turns_;
  DeviceTurn turn_;
  bool unacknowledged_ = false;
  GrantForecast forecast_;
  std::optional<absl::Time> asked_ahead_;  // While such a pull is open.
  std::optional<v1::Grant> begun_ahead_;   // While there is no grant for it.
  bool ahead_ = false;     // The step in hand was begun before its grant.
  absl::Time weights_at_;  // When the last of them came, of such a step.
  std::optional<absl::Time> pushed_at_;  // When the last PushDone was sent.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_TRAINER_H_
