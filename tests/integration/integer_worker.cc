#include "tests/integration/integer_worker.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "services/worker/control_stream.h"
#include "services/worker/iteration_signals.h"
#include "services/worker/parameter_client.h"

namespace paceline {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr uint32_t kBatch = 32;  // Of the jobs that it takes part in.

// The arrays that a model would have.
struct Arrays {
  std::vector<std::vector<float>> parameters;
  std::vector<std::vector<float>> gradients;
};

TensorArrays View(const std::shared_ptr<Arrays>& arrays) {
  TensorArrays view;
  for (auto& tensor : arrays->parameters) {
    view.parameters.push_back(absl::MakeSpan(tensor));
  }
  for (auto& tensor : arrays->gradients)
    view.gradients.push_back(BytesOf(tensor));
  view.owner = arrays;
  return view;
}

v1::PushBlock HeaderOf(int64_t iteration, uint32_t samples,
                       const v1::PushPlan& plan) {
  v1::PushBlock header;
  header.set_iteration(iteration);
  header.set_samples(samples);
  header.set_weight(1);
  if (plan.has_round()) {
    header.set_round(plan.round());
  } else {
    header.set_immediate_rate(plan.immediate_rate());
    header.set_rated_at(plan.rated_at());
  }
  return header;
}

// Sleeps through the batch in pieces. The samples done: fewer after a refresh,
// none if the iteration is over.
uint32_t Compute(const v1::SampleRange& range, absl::Duration step,
                 IterationSignals& signals) {
  constexpr int kPieces = 8;
  const uint32_t size = range.end() - range.begin();
  step = step * size / kBatch;
  for (int piece = 1; piece <= kPieces; ++piece) {
    if (!signals.SleepUntil(Clock::Real().Now() + step / kPieces)) return 0;
    const uint32_t done = size * piece / kPieces;
    if (signals.refresh() && done > 0) return done;
  }
  return size;
}

// What was computed so far.
struct Computed {
  std::vector<v1::SampleRange> ranges;
  uint32_t samples = 0;  // Of them, from the front.
};

// Goes on for as long as the iteration is extended. Nothing if it was over
// before.
std::optional<v1::PushPlan> PlanOf(const v1::Grant& grant, absl::Duration step,
                                   ControlStream& control,
                                   IterationSignals& signals,
                                   Computed& computed) {
  while (grant.plan().ask()) {
    v1::WorkerMessage ready;
    ready.mutable_gradient_ready()->set_iteration(grant.iteration());
    ready.mutable_gradient_ready()->set_samples(computed.samples);
    control.Send(std::move(ready));
    if (!signals.AwaitAnswer(kPatience)) {
      return std::nullopt;
    }
    if (signals.plan().has_value()) return signals.plan();
    const v1::SampleRange more = *signals.TakeExtension();
    const uint32_t done = Compute(more, step, signals);
    if (done == 0) return std::nullopt;
    computed.ranges.push_back(more);
    computed.samples += done;
  }
  return grant.plan();
}

absl::Status Push(const v1::Grant& grant, const Computed& computed,
                  const v1::PushPlan& plan, ParameterClient& parameters,
                  Arrays& arrays, v1::PushDone& report) {
  const uint32_t samples = computed.samples;
  float sum = 0;
  uint32_t left = samples;
  for (const v1::SampleRange& range : computed.ranges) {
    for (uint32_t i = range.begin(); i < range.end() && left > 0; ++i, --left) {
      sum += IntegerWorker::GradientAt(i / kBatch * kBatch);
    }
  }
  for (auto& gradient : arrays.gradients) {
    std::fill(gradient.begin(), gradient.end(),
              sum / static_cast<float>(samples));
  }
  parameters.BeginPush(HeaderOf(grant.iteration(), samples, plan));
  for (size_t i = 0; i < arrays.gradients.size(); ++i) {
    parameters.PushTensors(i, i + 1);
  }
  PACELINE_ASSIGN_OR_RETURN(const PushResult pushed, parameters.FinishPush());
  report.set_blocks(pushed.blocks);
  return absl::OkStatus();
}

// Pulls, sleeps and pushes as a trainer does. OK also if a command came.
absl::Status Iterate(const v1::Grant& grant, absl::Duration step,
                     ControlStream& control, ParameterClient& parameters,
                     Arrays& arrays) {
  IterationSignals signals(&control, grant.iteration());
  PACELINE_RETURN_IF_ERROR(parameters.Pull(grant.closing()).status());
  Computed computed = {{grant.range()}, Compute(grant.range(), step, signals)};
  std::optional<v1::PushPlan> plan;
  if (computed.samples > 0) {
    plan = PlanOf(grant, step, control, signals, computed);
  }
  v1::WorkerMessage message;
  if (plan.has_value()) {
    v1::PushDone& report = *message.mutable_push_done();
    report.set_iteration(grant.iteration());
    report.set_samples(computed.samples);
    report.set_discarded(plan->discard());
    if (!plan->discard()) {
      PACELINE_RETURN_IF_ERROR(
          Push(grant, computed, *plan, parameters, arrays, report));
    }
  } else if (signals.abandon()) {
    message.mutable_abandoned()->set_iteration(grant.iteration());
  } else {
    return absl::OkStatus();
  }
  control.Send(std::move(message));
  return absl::OkStatus();
}

}  // namespace

absl::Status IntegerWorker::Run() const {
  while (true) {
    const absl::Status ended = RunIncarnation();
    if (!absl::IsAborted(ended) && !absl::IsUnavailable(ended)) return ended;
  }
}

absl::Status IntegerWorker::RunIncarnation() const {
  v1::WorkerHello hello;
  hello.set_name(name);
  ControlStream control(std::make_shared<CoordinatorAddresses>(coordinator),
                        hello);
  PACELINE_RETURN_IF_ERROR(control.Next(kPatience).status());  // Registered.
  PACELINE_ASSIGN_OR_RETURN(const v1::WorkerCommand command,
                            control.Next(kPatience));
  const v1::Assignment& assignment = command.assign();
  const absl::Duration lease = absl::Milliseconds(assignment.lease_ms());
  control.SetLease(lease);
  return TakePart(control, assignment);
}

absl::Status IntegerWorker::TakePart(ControlStream& control,
                                     const v1::Assignment& assignment) const {
  const absl::Duration lease = control.lease();

  auto arrays = std::make_shared<Arrays>();
  v1::WorkerMessage ready;
  ready.mutable_ready()->set_train_samples(train_samples);
  ready.mutable_ready()->set_extends(true);
  for (const int64_t size : tensors) {
    v1::TensorSpec& tensor = *ready.mutable_ready()->add_tensors();
    tensor.set_name("t" + std::to_string(arrays->parameters.size()));
    tensor.add_shape(size);
    tensor.set_size(size);
    arrays->parameters.emplace_back(size);
    arrays->gradients.emplace_back(size);
  }
  control.Send(std::move(ready));

  std::unique_ptr<ParameterClient> parameters;
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const v1::WorkerCommand command,
                              control.Next(kPatience));
    if (command.has_stop()) {
      v1::WorkerMessage message;
      message.mutable_leaving()->set_process(true);
      control.Send(std::move(message));
      control.Finish();
      return absl::OkStatus();
    }
    if (command.has_begin()) {
      PACELINE_ASSIGN_OR_RETURN(
          parameters,
          ParameterClient::Connect(command.begin(), View(arrays),
                                   {.incarnation = assignment.incarnation(),
                                    .lease = lease,
                                    .run = assignment.run()}));
      if (!command.begin().initialize()) continue;
      PACELINE_RETURN_IF_ERROR(parameters->SetAll());
      v1::WorkerMessage message;
      message.mutable_initialized();
      control.Send(std::move(message));
    } else if (command.has_grant()) {
      const absl::Status done =
          Iterate(command.grant(), step, control, *parameters, *arrays);
      if (!done.ok() && !control.Interrupted()) return done;
    }
  }
}

}  // namespace paceline
