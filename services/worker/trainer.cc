#include "services/worker/trainer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/micro_batches.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

v1::PushBlock HeaderOf(int64_t iteration, uint32_t samples,
                       const v1::PushPlan& plan) {
  v1::PushBlock header;
  header.set_iteration(iteration);
  header.set_samples(samples);
  header.set_weight(plan.has_weight() ? plan.weight() : 1);
  header.set_compensation(plan.compensation());
  if (plan.has_compensation_memory()) {
    header.set_compensation_memory(plan.compensation_memory());
  }
  if (plan.kind_case() == v1::PushPlan::kRound) {
    header.set_round(plan.round());
  } else {
    header.set_immediate_rate(plan.immediate_rate());
    header.set_rated_at(plan.rated_at());
    if (plan.has_momentum()) header.set_momentum(plan.momentum());
  }
  return header;
}

bool Imitates(const PaceSpec& pace) {
  return pace.slowdown != 1 || pace.step_time.has_value() ||
         pace.delay.has_value() || pace.pause.has_value();
}

}  // namespace

// What a step in hand means for its iteration.
class Trainer::Watch final : public StepWatch {
 public:
  // The first micro-batch of a step costs nothing.
  Watch(Trainer* trainer, const v1::Grant& grant, IterationSignals* signals,
        absl::Time began, bool first)
      : trainer_(*trainer),
        grant_(grant),
        signals_(*signals),
        began_(began),
        costly_micro_batches_(first ? -1 : 0) {}

  void PushBegins() override {
    trainer_.parameters_.BeginPush(
        HeaderOf(grant_.iteration(),
                 grant_.range().end() - grant_.range().begin(), grant_.plan()));
  }
  void GradientsReady(size_t first, size_t end) override {
    trainer_.PushTensors(first, end);
  }
  bool Computed(uint32_t samples, absl::Duration loading) override {
    const absl::Duration so_far = trainer_.clock_.Now() - began_ - loading;
    return trainer_.ImitateDevice(so_far, samples, ++costly_micro_batches_,
                                  signals_);
  }
  bool refresh() const override { return signals_.refresh(); }
  bool Over() override { return signals_.Over(); }
  bool Abandoned() override { return trainer_.control_.ended(); }

 private:
  Trainer& trainer_;
  const v1::Grant& grant_;
  IterationSignals& signals_;
  const absl::Time began_;
  int costly_micro_batches_;
};

Trainer::Trainer(Task* task, ParameterClient* parameters,
                 ControlStream* control, const PaceSpec& pace,
                 uint64_t pace_seed, WorkerMetrics* metrics, DeviceTurns* turns)
    : task_(*task),
      computation_(task->computation()),
      parameters_(*parameters),
      control_(*control),
      metrics_(*metrics),
      pace_(pace, static_cast<int>(task->job().batch_size()), pace_seed),
      imitating_(Imitates(pace)),
      takes_turns_(turns != nullptr),
      turn_(turns) {}

absl::Status Trainer::Run(const v1::Grant& grant) {
  IterationSignals signals(&control_, grant.iteration());
  const absl::Status status = RunIteration(grant, signals);
  turn_.End();
  // The step in hand had its samples.
  if (signals.TakeDropReserved()) DropReserved();
  return status;
}

void Trainer::DropReserved() {
  DropAhead();
  forecast_.DropReserved();
  computation_.DropReserved();
}

absl::Status Trainer::RunIteration(const v1::Grant& grant,
                                   IterationSignals& signals) {
  const absl::Time granted = clock_.Now();
  if (!forecast_.Take(grant)) asked_ahead_.reset();
  if (begun_ahead_.has_value() && !GrantForecast::Fits(grant, *begun_ahead_)) {
    DropAhead();
  }
  ahead_ = begun_ahead_.has_value();
  begun_ahead_.reset();
  v1::PushDone report;
  report.set_iteration(grant.iteration());
  if (pushed_at_.has_value()) {
    report.mutable_seconds()->set_wait(
        absl::ToDoubleSeconds(granted - *pushed_at_));
  }
  PACELINE_ASSIGN_OR_RETURN(std::optional<StepOutcome> computed,
                            PullAndCompute(grant, signals, report));
  std::optional<v1::PushPlan> plan;
  if (computed.has_value()) {
    PACELINE_ASSIGN_OR_RETURN(plan, PlanOf(grant, *computed, signals, report));
  }
  if (!plan.has_value()) {
    computation_.Drop();
    if (signals.abandon()) Abandon(grant);
    return absl::OkStatus();
  }
  report.set_samples(computed->samples);
  if (computed->finite) report.set_loss(computed->loss);
  report.set_discarded(!computed->finite || plan->discard());
  if (!report.discarded()) return Push(grant, *plan, *computed, report);
  Report(report);
  return absl::OkStatus();
}

void Trainer::Report(v1::PushDone& report) {
  metrics_.Observe(report);
  v1::WorkerMessage message;
  *message.mutable_push_done() = std::move(report);
  pushed_at_ = clock_.Now();
  control_.Send(std::move(message));
}

void Trainer::OrderEarly(const v1::Grant& grant) {
  if (begun_ahead_.has_value()) return;
  computation_.OrderEarly(grant, OrderOf(grant));
}

StepOrder Trainer::OrderOf(const v1::Grant& grant) const {
  StepOrder order;
  order.range = FromWire(grant.range());
  order.micro_batch = MicroBatchLimit(
      task_.job().batch_size(), task_.job().micro_batch(), grant.micro_batch());
  order.asks = grant.plan().ask();
  order.overlaps = !imitating_ && !order.asks;
  order.gives_way = imitating_;
  return order;
}

absl::StatusOr<std::optional<StepOutcome>> Trainer::PullAndCompute(
    const v1::Grant& grant, IterationSignals& signals, v1::PushDone& report) {
  PACELINE_RETURN_IF_ERROR(computation_.Order(grant, OrderOf(grant)));
  PACELINE_RETURN_IF_ERROR(PullWeights(grant, signals, report));
  if (signals.Over()) return std::nullopt;
  return Compute(grant, signals, report);
}

bool Trainer::BeginTurn(IterationSignals& signals, v1::PushDone& report) {
  const absl::Time began = clock_.Now();
  if (!turn_.Begin([&signals] { return signals.Over(); })) return false;
  v1::PhaseSeconds& seconds = *report.mutable_seconds();
  seconds.set_compute(seconds.compute() +
                      absl::ToDoubleSeconds(clock_.Now() - began));
  return true;
}

absl::Status Trainer::PullWeights(const v1::Grant& grant,
                                  IterationSignals& signals,
                                  v1::PushDone& report) {
  const absl::Time began = clock_.Now();
  // Compensation needs to know from which weights the gradient is.
  const bool keep = grant.plan().compensation() > 0;
  absl::Duration parked;
  const std::function<void(size_t)> on_tensor = OnTensor();
  absl::StatusOr<PullResult> pulled;
  if (std::optional<PullResult> ahead = TakeAhead(grant, on_tensor)) {
    pulled = *ahead;
  } else {
    pulled = parameters_.Pull(grant.closing(), keep, on_tensor);
  }
  // A server parks a pull for a lease at most: as long as the coordinator
  // stands by the grant, the worker asks again. A stream that is broken for
  // good answers at once.
  while (absl::IsUnavailable(pulled.status()) && !parameters_.broken() &&
         !signals.Over()) {
    parked = clock_.Now() - began;
    pulled = parameters_.Pull(grant.closing(), keep, on_tensor);
  }
  if (!pulled.ok() && signals.Over()) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(pulled.status());
  parameters_.set_base_version(grant.base_version());
  const absl::Duration pulling = clock_.Now() - began;
  if (!BeginTurn(signals, report)) return absl::OkStatus();
  const absl::Time begun = clock_.Now();
  PACELINE_RETURN_IF_ERROR(computation_.ParametersChanged());
  parked += pulled->parked;
  report.set_pull_bytes(pulled->bytes);
  report.mutable_seconds()->set_parked(absl::ToDoubleSeconds(parked));
  report.mutable_seconds()->set_pull(
      absl::ToDoubleSeconds(pulling + (clock_.Now() - begun)));
  return absl::OkStatus();
}

std::function<void(size_t)> Trainer::OnTensor() {
  if (takes_turns_ || !computation_.takes_parameters_singly()) return nullptr;
  return [this](size_t tensor) {
    weights_at_ = clock_.Now();
    computation_.ParameterArrived(tensor);
  };
}

void Trainer::BeginAhead() {
  // An imitated device begins with its grant, so that its pace is what it is.
  if (!asked_ahead_.has_value() || imitating_ || takes_turns_) return;
  const std::optional<v1::Grant> next = forecast_.Next();
  // Rules that plan a push once it is there go by who is ready when.
  if (!next.has_value() || next->plan().ask()) return;
  StepOrder order = OrderOf(*next);
  order.foretold = true;
  if (!computation_.OrderEarly(*next, order)) return;
  begun_ahead_ = next;
  parameters_.DeliverAhead(OnTensor());
}

void Trainer::DropAhead() {
  if (!begun_ahead_.has_value()) return;
  parameters_.DropAhead();
  computation_.Drop();
  begun_ahead_.reset();
  asked_ahead_.reset();
}

std::optional<PullResult> Trainer::TakeAhead(
    const v1::Grant& grant, const std::function<void(size_t)>& on_tensor) {
  const std::optional<absl::Time> asked = std::exchange(asked_ahead_, {});
  if (!asked.has_value() || grant.plan().compensation() > 0) {
    return std::nullopt;
  }
  const absl::Time granted = clock_.Now();
  absl::StatusOr<PullResult> pulled = parameters_.AwaitAhead(on_tensor);
  if (!pulled.ok()) return std::nullopt;
  // Before the grant it was no time of the pull's.
  pulled->parked =
      std::max(absl::ZeroDuration(), *asked + pulled->parked - granted);
  return *std::move(pulled);
}

absl::StatusOr<std::optional<StepOutcome>> Trainer::Compute(
    const v1::Grant& grant, IterationSignals& signals, v1::PushDone& report,
    int parts_before) {
  const absl::Time began = clock_.Now();
  pace_.Begin(began);
  Watch watch(this, grant, &signals, began, /*first=*/parts_before == 0);
  absl::StatusOr<std::optional<StepOutcome>> outcome =
      computation_.Compute(watch);
  turn_.End();
  PACELINE_RETURN_IF_ERROR(outcome.status());
  if (!outcome->has_value()) return std::nullopt;
  // Of all parts of an extended step.
  v1::PhaseSeconds& seconds = *report.mutable_seconds();
  seconds.set_load(seconds.load() + absl::ToDoubleSeconds((*outcome)->loading));
  seconds.set_compute(
      seconds.compute() +
      absl::ToDoubleSeconds(clock_.Now() - began - (*outcome)->loading));
  if (std::exchange(ahead_, false)) CountAhead(**outcome, seconds);
  return outcome;
}

void Trainer::CountAhead(const StepOutcome& outcome,
                         v1::PhaseSeconds& seconds) {
  // A grant may be long in coming, to a step that was computed long ago.
  const double computing = absl::ToDoubleSeconds(std::min(
      outcome.computing, clock_.Now() - weights_at_ - outcome.loading));
  const double before =
      std::clamp(computing - seconds.compute(), 0.0, seconds.wait());
  seconds.set_compute(seconds.compute() + before);
  seconds.set_wait(seconds.wait() - before);
}

bool Trainer::ImitateDevice(absl::Duration computed, uint32_t samples,
                            int costly_micro_batches,
                            IterationSignals& signals) {
  if (!imitating_) return !signals.Over();
  return signals.SleepUntil(
      pace_.Until(computed, static_cast<int>(samples), costly_micro_batches));
}

absl::StatusOr<std::optional<v1::PushPlan>> Trainer::PlanOf(
    const v1::Grant& grant, StepOutcome& outcome, IterationSignals& signals,
    v1::PushDone& report) {
  uint32_t granted = FromWire(grant.range()).size();
  int parts = 1;
  // What is not finite takes no place in a round.
  while (grant.plan().ask() && outcome.finite) {
    v1::WorkerMessage message;
    message.mutable_gradient_ready()->set_iteration(grant.iteration());
    message.mutable_gradient_ready()->set_samples(outcome.samples);
    control_.Send(std::move(message));
    const absl::Duration patience = 3 * task_.lease();
    if (!signals.AwaitAnswer(patience)) {
      if (signals.Over()) return std::nullopt;
      return absl::UnavailableError(absl::StrCat(
          "the coordinator did not plan the push of iteration ",
          grant.iteration(), " within ", absl::FormatDuration(patience)));
    }
    if (signals.plan().has_value()) return signals.plan();
    const SampleRange more = FromWire(*signals.TakeExtension());
    // What was broken off is pushed as it is: the coordinator counts from the
    // front of all samples.
    if (outcome.samples == granted) {
      // Those of the extension may be among what was withdrawn for it.
      if (signals.TakeDropReserved()) computation_.DropReserved();
      forecast_.DropReserved();
      if (!BeginTurn(signals, report)) return std::nullopt;
      PACELINE_RETURN_IF_ERROR(computation_.Extend(more));
      PACELINE_ASSIGN_OR_RETURN(const std::optional<StepOutcome> extended,
                                Compute(grant, signals, report, parts++));
      if (!extended.has_value()) return std::nullopt;
      outcome = *extended;
    }
    granted += more.size();
  }
  return grant.plan();
}

absl::Status Trainer::Push(const v1::Grant& grant, const v1::PushPlan& plan,
                           const StepOutcome& outcome, v1::PushDone& report) {
  const absl::Time began = clock_.Now();
  if (!outcome.pushing) {
    PACELINE_RETURN_IF_ERROR(computation_.Finish());
    parameters_.BeginPush(HeaderOf(grant.iteration(), outcome.samples, plan));
    PushTensors(0, parameters_.tensors());
  }
  const auto taken = [&](const PushResult& pushed) {
    unacknowledged_ = false;
    report.set_blocks(pushed.blocks);
    report.set_blocks_refused(pushed.blocks_refused);
    report.set_push_bytes(pushed.bytes);
    if (pushed.gradient_square.has_value()) {
      report.set_gradient_square(*pushed.gradient_square);
    }
    report.mutable_seconds()->set_push(
        absl::ToDoubleSeconds(clock_.Now() - began));
    Report(report);
    BeginAhead();
  };
  std::optional<int64_t> ahead;
  // A compensated gradient needs a pull of its own.
  if (plan.kind_case() == v1::PushPlan::kRound && plan.compensation() == 0) {
    ahead = forecast_.Closing();
  }
  if (ahead.has_value()) asked_ahead_ = clock_.Now();
  return parameters_.FinishPush(taken, ahead).status();
}

void Trainer::PushTensors(size_t first, size_t end) {
  unacknowledged_ = true;
  parameters_.PushTensors(first, end);
}

void Trainer::Abandon(const v1::Grant& grant) {
  v1::WorkerMessage message;
  message.mutable_abandoned()->set_iteration(grant.iteration());
  control_.Send(std::move(message));
  pushed_at_ = clock_.Now();
}

}  // namespace paceline
