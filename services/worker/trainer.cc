#include "services/worker/trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/micro_batches.h"
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
  if (plan.kind_case() == v1::PushPlan::kRound) {
    header.set_round(plan.round());
  } else {
    header.set_immediate_rate(plan.immediate_rate());
  }
  return header;
}

bool Imitates(const PaceSpec& pace) {
  return pace.slowdown != 1 || pace.step_time.has_value() ||
         pace.delay.has_value() || pace.pause.has_value();
}

}  // namespace

Trainer::Trainer(Task* task, ParameterClient* parameters,
                 ControlStream* control, const PaceSpec& pace,
                 uint64_t pace_seed, WorkerMetrics* metrics)
    : task_(*task),
      parameters_(*parameters),
      control_(*control),
      metrics_(*metrics),
      loader_(&task->data(), task->job().seed(), task->ImageMemory()),
      pace_(pace, static_cast<int>(task->job().batch_size()), pace_seed),
      imitating_(Imitates(pace)) {}

absl::Status Trainer::Run(const v1::Grant& grant) {
  const absl::Time granted = clock_.Now();
  IterationSignals signals(&control_, grant.iteration());
  v1::PushDone report;
  report.set_iteration(grant.iteration());
  if (pushed_at_.has_value()) {
    report.mutable_seconds()->set_wait(
        absl::ToDoubleSeconds(granted - *pushed_at_));
  }
  PACELINE_ASSIGN_OR_RETURN(const std::optional<Computed> computed,
                            PullAndCompute(grant, signals, report));
  std::optional<v1::PushPlan> plan;
  if (computed.has_value()) {
    PACELINE_ASSIGN_OR_RETURN(plan, PlanOf(grant, *computed, signals));
  }
  if (!plan.has_value()) {
    if (signals.abandon()) Abandon(grant);
    return absl::OkStatus();
  }
  report.set_samples(computed->samples);
  if (computed->finite) report.set_loss(computed->loss);
  report.set_discarded(!computed->finite || plan->discard());
  if (!report.discarded()) {
    PACELINE_RETURN_IF_ERROR(Push(grant, *plan, *computed, report));
  }
  metrics_.Observe(report);
  v1::WorkerMessage message;
  *message.mutable_push_done() = std::move(report);
  control_.Send(std::move(message));
  pushed_at_ = clock_.Now();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Trainer::Computed>> Trainer::PullAndCompute(
    const v1::Grant& grant, IterationSignals& signals, v1::PushDone& report) {
  const v1::SampleRange& range = grant.range();
  const uint32_t micro_batch = MicroBatchLimit(
      task_.job().batch_size(), task_.job().micro_batch(), grant.micro_batch());
  // The loader gathers while the weights are on their way.
  PACELINE_RETURN_IF_ERROR(
      loader_.Start({range.epoch(), range.begin(), range.end()},
                    static_cast<int>(MicroBatchSize(range.end() - range.begin(),
                                                    micro_batch))));
  PACELINE_RETURN_IF_ERROR(PullWeights(grant, signals, report));
  if (signals.Over()) return std::nullopt;
  return Compute(grant, signals, report);
}

absl::Status Trainer::PullWeights(const v1::Grant& grant,
                                  IterationSignals& signals,
                                  v1::PushDone& report) {
  const absl::Time began = clock_.Now();
  // Compensation needs to know from which weights the gradient is.
  const bool keep = grant.plan().compensation() > 0;
  absl::Duration parked;
  // Each goes up to a device while others are on their way.
  std::function<void(size_t)> on_tensor;
  if (!task_.model().host_visible()) {
    on_tensor = [this](size_t tensor) {
      task_.model().ParameterArrived(tensor);
    };
  }
  absl::StatusOr<PullResult> pulled =
      parameters_.Pull(grant.closing(), keep, on_tensor);
  // A server parks a pull for a lease at most: as long as the coordinator
  // stands by the grant, the worker asks again. A broken stream answers at
  // once and for good.
  while (absl::IsUnavailable(pulled.status()) && !parameters_.broken() &&
         !signals.Over()) {
    parked = clock_.Now() - began;
    pulled = parameters_.Pull(grant.closing(), keep, on_tensor);
  }
  if (!pulled.ok() && signals.Over()) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(pulled.status());
  PACELINE_RETURN_IF_ERROR(task_.model().ParametersChanged());
  parked += pulled->parked;
  report.set_pull_bytes(pulled->bytes);
  report.mutable_seconds()->set_parked(absl::ToDoubleSeconds(parked));
  report.mutable_seconds()->set_pull(
      absl::ToDoubleSeconds(clock_.Now() - began));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Trainer::Computed>> Trainer::Compute(
    const v1::Grant& grant, IterationSignals& signals, v1::PushDone& report) {
  const uint32_t size = grant.range().end() - grant.range().begin();
  const float scale = 1.0f / static_cast<float>(size);
  // A real device's gradients leave during the backward pass. What is imitated
  // is computed early and sleeps then, so it lets the others on its cores go
  // first: their pushes would else wait for a tick of the kernel's.
  const bool overlaps = !imitating_ && !grant.plan().ask();
  Computed computed;
  absl::Duration loading;
  const absl::Time began = clock_.Now();
  pace_.Begin(began);
  task_.model()
      .DropStaged();  // An iteration that came to nothing may have left some.
  std::optional<MicroBatch> batch = StageNext(loading);
  while (batch.has_value()) {
    const bool first = computed.samples == 0;
    computed.samples += batch->n;
    const bool last = computed.samples == size;
    computed.pushing = last && overlaps;
    if (computed.pushing) {
      parameters_.BeginPush(HeaderOf(grant.iteration(), size, grant.plan()));
    }
    StepCalls calls;
    if (computed.pushing) {
      calls.on_ready = [this](size_t tensor) { PushTensor(tensor); };
    }
    if (imitating_) calls.between_tensors = [] { std::this_thread::yield(); };
    calls.meanwhile = [&] { batch = StageNext(loading); };
    const absl::StatusOr<BatchLoss> loss =
        task_.model().ComputeStaged(scale, first, calls);
    if (!loss.ok()) return task_.FromDevice(loss.status());
    computed.loss += loss->loss_sum;
    computed.finite = std::isfinite(computed.loss);
    const absl::Duration so_far = clock_.Now() - began - loading;
    if (!ImitateDevice(so_far, computed.samples, signals) &&
        !computed.pushing) {
      return std::nullopt;
    }
    if (!computed.finite || signals.refresh()) break;
  }
  loader_.Stop();
  computed.loss /= computed.samples;
  if (!computed.finite) {
    computed.samples = size;  // It uses up all of them.
  } else if (!computed.pushing) {
    if (computed.samples < size) {
      task_.model().ScaleGradients(static_cast<float>(size) /
                                   static_cast<float>(computed.samples));
    }
    PACELINE_RETURN_IF_ERROR(task_.FromDevice(task_.model().FetchGradients()));
  }
  TellObstacle();
  report.mutable_seconds()->set_load(absl::ToDoubleSeconds(loading));
  report.mutable_seconds()->set_compute(
      absl::ToDoubleSeconds(clock_.Now() - began - loading));
  return computed;
}

std::optional<MicroBatch> Trainer::StageNext(absl::Duration& loading) {
  const std::optional<MicroBatch> batch = loader_.Next();
  if (!batch.has_value()) return std::nullopt;
  loading += batch->waited;
  task_.model().Stage(batch->images, batch->labels, batch->n);
  return batch;
}

void Trainer::TellObstacle() {
  if (obstacle_told_) return;
  const absl::Status obstacle = task_.model().repeat_obstacle();
  if (obstacle.ok()) return;
  obstacle_told_ = true;
  LogWarning("a step is not repeated as a graph, so it takes longer",
             {{"reason", obstacle.ToString()}});
}

bool Trainer::ImitateDevice(absl::Duration computed, uint32_t samples,
                            IterationSignals& signals) {
  if (!imitating_) return !signals.Over();
  return signals.SleepUntil(pace_.Until(computed, static_cast<int>(samples)));
}

absl::StatusOr<std::optional<v1::PushPlan>> Trainer::PlanOf(
    const v1::Grant& grant, const Computed& computed,
    IterationSignals& signals) {
  // What is not finite takes no place in a round.
  if (!grant.plan().ask() || !computed.finite) return grant.plan();
  v1::WorkerMessage message;
  message.mutable_gradient_ready()->set_iteration(grant.iteration());
  message.mutable_gradient_ready()->set_samples(computed.samples);
  control_.Send(std::move(message));
  const absl::Duration patience = 3 * task_.lease();
  if (signals.AwaitPlan(clock_.Now() + patience)) return signals.plan();
  if (signals.Over()) return std::nullopt;
  return absl::UnavailableError(absl::StrCat(
      "the coordinator did not plan the push of iteration ", grant.iteration(),
      " within ", absl::FormatDuration(patience)));
}

absl::Status Trainer::Push(const v1::Grant& grant, const v1::PushPlan& plan,
                           const Computed& computed, v1::PushDone& report) {
  const absl::Time began = clock_.Now();
  if (!computed.pushing) {
    parameters_.BeginPush(HeaderOf(grant.iteration(), computed.samples, plan));
    for (size_t i = task_.model().tensors().size(); i-- > 0;) {
      PushTensor(i);
    }
  }
  PACELINE_ASSIGN_OR_RETURN(const PushResult pushed, parameters_.FinishPush());
  unacknowledged_ = false;
  report.set_blocks(pushed.blocks);
  report.set_blocks_refused(pushed.blocks_refused);
  report.set_push_bytes(pushed.bytes);
  report.mutable_seconds()->set_push(
      absl::ToDoubleSeconds(clock_.Now() - began));
  return absl::OkStatus();
}

void Trainer::PushTensor(size_t tensor) {
  unacknowledged_ = true;
  parameters_.PushTensor(tensor);
}

void Trainer::Abandon(const v1::Grant& grant) {
  loader_.Stop();
  v1::WorkerMessage message;
  message.mutable_abandoned()->set_iteration(grant.iteration());
  control_.Send(std::move(message));
  pushed_at_ = clock_.Now();
}

}  // namespace paceline
