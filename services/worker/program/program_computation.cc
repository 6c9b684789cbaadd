#include "services/worker/program/program_computation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/job/names.h"
#include "common/job/optimizer_spec.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "common/tensor/dtype.h"

namespace paceline {
namespace {

// A program reads its data and builds its model before it attaches: as long as
// a coordinator waits for a job's workers to be ready.
constexpr absl::Duration kAttachTimeout = absl::Hours(1);

// As long as a coordinator waits for the starting weights.
constexpr absl::Duration kInitializeTimeout = absl::Minutes(5);

// The program hears of weights in about sixteen pieces, each of which is worth
// a message. Only the first one may be small, with which the forward pass
// begins, and the last.
constexpr uint64_t kPieces = 16;
constexpr uint64_t kLeastPiece = uint64_t{32} << 10;
constexpr uint64_t kMostPiece = uint64_t{256} << 10;

absl::Status CheckOptimizer(const ProgramAttach& attach,
                            const v1::JobSpec& job) {
  if (!attach.optimizer.has_value()) return absl::OkStatus();
  const auto own = ParseOptimizerSpec(*attach.optimizer);
  PACELINE_RETURN_IF_ERROR(Annotate(own.status(), "the program's optimizer"));
  PACELINE_ASSIGN_OR_RETURN(OptimizerSpec wanted,
                            ParseOptimizerSpec(job.optimizer()));
  // Who knows nothing of staleness has the total.
  wanted.momentum_by_staleness = own->momentum_by_staleness;
  if (*own == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the program's optimizer is ", FormatOptimizerSpec(*own),
      ", the job's is ", FormatOptimizerSpec(wanted),
      ": set the job's `optimizer` to the program's (paceline local "
      "--optimizer ",
      FormatOptimizerSpec(*own), "), or attach without one"));
}

absl::StatusOr<int64_t> IterationOf(const absl::StatusOr<ProgramDone>& done) {
  if (!done.ok()) return done.status();
  return done->iteration;
}

std::vector<SampleRange> ReservedBy(const v1::Grant& grant) {
  std::vector<SampleRange> reserved;
  for (const v1::SampleRange& range : grant.reserved()) {
    reserved.push_back(FromWire(range));
  }
  return reserved;
}

absl::Duration ToDuration(uint64_t nanoseconds) {
  return absl::Nanoseconds(static_cast<int64_t>(
      std::min<uint64_t>(nanoseconds, std::numeric_limits<int64_t>::max())));
}

bool OfPatience(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProgramComputation>> ProgramComputation::Attach(
    const v1::Assignment& assignment, const std::string& worker, bool evaluator,
    DType wire, ProgramLife* life, ProgramFailures* failures,
    const std::function<bool()>& stopped) {
  auto made = absl::WrapUnique(new ProgramComputation(
      assignment, evaluator, wire, life, failures, stopped));
  PACELINE_RETURN_IF_ERROR(made->AwaitAttach(assignment, worker));
  PACELINE_RETURN_IF_ERROR(made->MakeArenas());
  made->where_ = "before its first step";
  return made;
}

ProgramComputation::ProgramComputation(const v1::Assignment& assignment,
                                       bool evaluator, DType wire,
                                       ProgramLife* life,
                                       ProgramFailures* failures,
                                       const std::function<bool()>& stopped)
    : job_(assignment.job()),
      run_(assignment.run()),
      evaluator_(evaluator),
      wire_(wire),
      life_(*life),
      failures_(*failures),
      stopped_(stopped),
      where_("before it attached") {}

absl::Status ProgramComputation::AwaitAttach(const v1::Assignment& assignment,
                                             const std::string& worker) {
  ProgramJob job;
  job.job = assignment.job_name();
  job.worker = worker;
  job.evaluator = evaluator_;
  job.arguments = {job_.arguments().begin(), job_.arguments().end()};
  job.seed = job_.seed();
  job.batch_size = job_.batch_size();
  job.micro_batch = job_.micro_batch() > 0
                        ? std::min(job_.micro_batch(), job_.batch_size())
                        : job_.batch_size();
  job.wire = std::string(DTypeName(wire_));
  job.optimizer = WithoutStaleness(job_.optimizer());
  job.learning_rate = job_.learning_rate();
  job.data = job_.data();
  const ProgramPatience patience = {
      .deadline = Clock::Real().Now() + kAttachTimeout, .stopped = stopped_};
  PACELINE_RETURN_IF_ERROR(life_.Send(JobFrame(job), patience, where_));
  const auto frame = life_.Receive(patience, where_);
  if (absl::IsDeadlineExceeded(frame.status())) {
    return absl::DeadlineExceededError(
        absl::StrCat("the program has not attached within ",
                     absl::FormatDuration(kAttachTimeout)));
  }
  PACELINE_RETURN_IF_ERROR(frame.status());
  if (frame->kind != FrameKind::kAttach) {
    return life_.Refuse(absl::InvalidArgumentError(
        absl::StrCat("`", FrameName(frame->kind), "` in place of `attach`")));
  }
  absl::StatusOr<ProgramAttach> attach = ParseAttach(frame->body, evaluator_);
  if (!attach.ok()) return life_.Refuse(attach.status());
  const absl::Status optimizer = CheckOptimizer(*attach, job_);
  if (!optimizer.ok()) return life_.Refuse(optimizer);
  attach_ = *std::move(attach);
  if (!evaluator_ && job_.data() != kStreamData) {
    lots_.emplace(job_.seed(), attach_.train_samples);
  }
  return absl::OkStatus();
}

absl::Status ProgramComputation::MakeArenas() {
  PACELINE_ASSIGN_OR_RETURN(arenas_,
                            ProgramArenas::Create(attach_.tensors, wire_));
  sums_.emplace(attach_.tensors, wire_);
  return absl::OkStatus();
}

v1::WorkerReady ProgramComputation::Ready() const {
  v1::WorkerReady ready;
  for (const ProgramTensor& tensor : attach_.tensors) {
    v1::TensorSpec& spec = *ready.add_tensors();
    spec.set_name(tensor.name);
    for (const int64_t extent : tensor.shape) spec.add_shape(extent);
    spec.set_size(tensor.size);
    spec.set_kind(ToWire(tensor.kind));
    if (tensor.rate_factor) spec.set_rate_factor(*tensor.rate_factor);
    if (tensor.weight_decay) spec.set_weight_decay(*tensor.weight_decay);
    if (tensor.momentum) spec.set_momentum(*tensor.momentum);
  }
  if (evaluator_) {
    ready.set_test_samples(attach_.test_samples);
  } else {
    ready.set_train_samples(attach_.train_samples);
    ready.set_lookahead(attach_.lookahead);
    ready.set_micro_batch(attach_.micro_batch);
    ready.set_extends(attach_.extends);
  }
  return ready;
}

TensorArrays ProgramComputation::Arrays() {
  TensorArrays arrays;
  for (size_t i = 0; i < attach_.tensors.size(); ++i) {
    arrays.parameters.push_back(arenas_->weights(i));
    arrays.gradients.push_back(arenas_->gradients(i));
    arrays.kinds.push_back(attach_.tensors[i].kind);
  }
  arrays.owner = arenas_;
  arrays.shared_gradients = arenas_->shared_gradients();
  return arrays;
}

absl::Status ProgramComputation::Begin(bool initialize) {
  PACELINE_RETURN_IF_ERROR(Send(BeginFrame(initialize, arenas_->weights_bytes(),
                                           arenas_->gradients_bytes()),
                                arenas_->descriptors()));
  arenas_->CloseWeightsDescriptor();
  if (!initialize) return absl::OkStatus();
  const auto frame =
      Receive({.deadline = Clock::Real().Now() + kInitializeTimeout,
               .stopped = stopped_});
  if (absl::IsDeadlineExceeded(frame.status())) {
    return Break(absl::DeadlineExceededError(
        absl::StrCat("the program has written no starting weights within ",
                     absl::FormatDuration(kInitializeTimeout))));
  }
  PACELINE_RETURN_IF_ERROR(frame.status());
  return frame->kind == FrameKind::kInitialized ? absl::OkStatus()
                                                : Unexpected(*frame);
}

absl::Status ProgramComputation::Order(const v1::Grant& grant,
                                       const StepOrder& order) {
  if (std::exchange(ordered_early_, std::nullopt) == grant.iteration()) {
    if (foretold_) {
      reserved_ = ReservedBy(grant);
      return absl::OkStatus();
    }
    PACELINE_RETURN_IF_ERROR(telling_);
    return Send("");  // What was left.
  }
  PACELINE_RETURN_IF_ERROR(AwaitAbandoned());
  foretold_ = false;
  return BeginStep(grant, order,
                   [this](absl::string_view frame) { return Send(frame); });
}

bool ProgramComputation::OrderEarly(const v1::Grant& grant,
                                    const StepOrder& order) {
  if (abandoned_.has_value() || step_.has_value() || !broken().ok()) {
    return false;
  }
  if (life_.gone()) return false;  // Before the step.
  std::string frames;
  telling_ = BeginStep(grant, order, [&frames](absl::string_view frame) {
    frames.append(frame.data(), frame.size());
    return absl::OkStatus();
  });
  if (order.foretold && !telling_.ok()) return false;
  life_.SendAtOnce(frames);
  ordered_early_ = grant.iteration();
  foretold_ = order.foretold;
  return true;
}

absl::Status ProgramComputation::BeginStep(const v1::Grant& grant,
                                           const StepOrder& order,
                                           SendFrame send) {
  order_ = {.iteration = grant.iteration(),
            .micro_batch = order.micro_batch,
            .flags = order.overlaps ? ProgramStep::kOverlap : 0,
            .rate = grant.rate(),
            .version = grant.base_version()};
  sums_->Clear();
  loss_sum_ = 0;
  PACELINE_RETURN_IF_ERROR(
      SendStep(order_, order.range, ReservedBy(grant), send));
  arrived_.assign(attach_.tensors.size(), false);
  for (size_t i = 0; pulled_ && i < arrived_.size(); ++i) {
    arrived_[i] = !attach_.tensors[i].pushed();
  }
  told_ = 0;
  telling_ = absl::OkStatus();
  return absl::OkStatus();
}

absl::Status ProgramComputation::SendStep(
    ProgramStep like, const SampleRange& range,
    absl::Span<const SampleRange> reserved, SendFrame send) {
  if (lots_.has_value()) {
    PACELINE_ASSIGN_OR_RETURN(const SampleLots::Notice notice,
                              lots_->Step(range, reserved));
    PACELINE_RETURN_IF_ERROR(SendLots(notice, send));
  }
  like.epoch = range.epoch;
  like.samples = range.size();
  like.trained = int64_t{range.epoch} * attach_.train_samples + range.begin;
  PACELINE_RETURN_IF_ERROR(send(StepFrame(like)));
  step_ = Step{.iteration = like.iteration,
               .samples = like.samples,
               .overlaps = (like.flags & ProgramStep::kOverlap) != 0};
  where_ = absl::StrCat("in step ", like.iteration);
  return absl::OkStatus();
}

absl::Status ProgramComputation::Extend(const SampleRange& range) {
  sums_->Add(*arenas_, last_samples_);
  ProgramStep step = order_;
  step.flags |= ProgramStep::kGoesOn;
  return SendStep(step, range, {},
                  [this](absl::string_view frame) { return Send(frame); });
}

absl::Status ProgramComputation::Finish() {
  if (sums_->samples() > 0) sums_->Average(*arenas_, last_samples_);
  return absl::OkStatus();
}

absl::Status ProgramComputation::SendLots(const SampleLots::Notice& notice,
                                          SendFrame send) {
  if (notice.drop) PACELINE_RETURN_IF_ERROR(send(EmptyFrame(FrameKind::kDrop)));
  for (const SampleRange& lot : notice.lots) {
    absl::Span<const uint32_t> samples = lots_->SamplesAt(lot);
    while (!samples.empty()) {
      const auto part = samples.subspan(0, kLotSamplesMax);
      PACELINE_RETURN_IF_ERROR(send(LotFrame(lot.epoch, part)));
      samples.remove_prefix(part.size());
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramComputation::SendReserved() {
  const std::vector<SampleRange> reserved = std::exchange(reserved_, {});
  if (lots_.has_value()) {
    PACELINE_ASSIGN_OR_RETURN(const SampleLots::Notice notice,
                              lots_->Reserve(reserved));
    PACELINE_RETURN_IF_ERROR(SendLots(
        notice, [this](absl::string_view frame) { return Send(frame); }));
  }
  return Send("");  // What was left.
}

void ProgramComputation::ParameterArrived(size_t tensor) {
  arrived_[tensor] = true;
  size_t end = told_;
  while (end < arrived_.size() && arrived_[end]) ++end;
  uint64_t bytes = 0;
  for (size_t i = told_; i < end; ++i) bytes += arenas_->weights(i).size() * 4;
  const uint64_t enough = told_ == 0
                              ? 1
                              : std::clamp(arenas_->weights_bytes() / kPieces,
                                           kLeastPiece, kMostPiece);
  if (end < arrived_.size() && bytes < enough) return;
  if (foretold_) {
    // Nobody would end a wait for the program: there is no grant, or it may be
    // another. The rest leaves with ParametersChanged().
    life_.SendAtOnce(WeightsFrame(RunUntil(end)));
    told_ = end;
    return;
  }
  if (!telling_.ok()) return;
  telling_ = life_.Tell(WeightsFrame(RunUntil(end)), {.stopped = stopped_});
  if (telling_.ok()) told_ = end;
}

absl::Status ProgramComputation::ParametersChanged() {
  pulled_ = true;
  // An evaluation's are told behind its order.
  if (!step_.has_value()) return absl::OkStatus();
  // Of a program that has gone, sending says how.
  if (OfPatience(telling_)) return telling_;
  PACELINE_RETURN_IF_ERROR(SendWeights(attach_.tensors.size()));
  return foretold_ ? SendReserved() : absl::OkStatus();
}

TensorRun ProgramComputation::RunUntil(size_t end) const {
  return {static_cast<uint32_t>(told_), static_cast<uint32_t>(end)};
}

absl::Status ProgramComputation::SendWeights(size_t end) {
  const TensorRun run = RunUntil(end);
  if (run.first == run.end) return absl::OkStatus();
  told_ = end;
  return Send(WeightsFrame(run));
}

absl::StatusOr<std::optional<StepOutcome>> ProgramComputation::Compute(
    StepWatch& watch) {
  const absl::Time began = Clock::Real().Now();
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const bool goes_on, LookAround(watch));
    if (!goes_on) return std::nullopt;
    // Looked at after it was woken, or there is a frame.
    const absl::StatusOr<ProgramFrame> frame =
        Receive({.stopped = [this, &watch] {
          if (step_->pushing()) return watch.Abandoned();
          return watch.Over() || (watch.refresh() && !step_->refreshed);
        }});
    if (absl::IsCancelled(frame.status())) continue;
    PACELINE_RETURN_IF_ERROR(frame.status());
    if (frame->kind == FrameKind::kReady) {
      PACELINE_RETURN_IF_ERROR(TakeReady(*frame, watch));
      continue;
    }
    if (frame->kind != FrameKind::kDone) return Unexpected(*frame);
    const auto done = ParseDone(frame->body);
    if (!done.ok()) return Refuse(done.status());
    if (done->iteration != step_->iteration) continue;
    PACELINE_ASSIGN_OR_RETURN(StepOutcome outcome, OutcomeOf(*done));
    // It may have loaded while the weights were on their way.
    outcome.loading = std::min(outcome.loading, Clock::Real().Now() - began);
    step_.reset();
    if (!watch.Computed(outcome.samples, outcome.loading) && !outcome.pushing) {
      return std::nullopt;
    }
    return OfAllSteps(outcome);
  }
}

StepOutcome ProgramComputation::OfAllSteps(StepOutcome outcome) {
  last_samples_ = outcome.samples;
  loss_sum_ += outcome.loss * outcome.samples;
  outcome.samples += sums_->samples();
  outcome.loss = loss_sum_ / outcome.samples;
  return outcome;
}

absl::StatusOr<bool> ProgramComputation::LookAround(StepWatch& watch) {
  if (step_->pushing()) {
    if (!watch.Abandoned()) return true;
    return absl::CancelledError(
        "the coordinator does not wait any more for the step in hand");
  }
  if (watch.Over()) return false;
  if (watch.refresh() && !step_->refreshed) {
    step_->refreshed = true;
    PACELINE_RETURN_IF_ERROR(
        Send(IterationFrame(FrameKind::kRefresh, step_->iteration)));
  }
  return true;
}

absl::Status ProgramComputation::TakeReady(const ProgramFrame& frame,
                                           StepWatch& watch) {
  const auto run = ParseReady(frame.body, attach_.tensors.size());
  if (!run.ok()) return Refuse(run.status());
  if (!step_->overlaps) {
    return Refuse(absl::InvalidArgumentError(
        "`ready` in a step that does not overlap: say `done` alone"));
  }
  if (!step_->pushing()) {
    step_->ready.resize(attach_.tensors.size());
    step_->ready_left = static_cast<size_t>(
        std::ranges::count_if(attach_.tensors, &ProgramTensor::pushed));
    watch.PushBegins();
  }
  for (uint32_t i = run->first; i < run->end; ++i) {
    if (!attach_.tensors[i].pushed()) continue;
    if (step_->ready[i]) {
      return Refuse(absl::InvalidArgumentError(
          absl::StrCat("\"", attach_.tensors[i].name, "\" was ready before")));
    }
    step_->ready[i] = true;
    --step_->ready_left;
  }
  watch.GradientsReady(run->first, run->end);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> ProgramComputation::OutcomeOf(
    const ProgramDone& done) {
  const bool finite = (done.flags & ProgramDone::kNotFinite) == 0 &&
                      std::isfinite(done.loss_sum);
  if (done.samples < 1 || done.samples > step_->samples) {
    return Refuse(absl::InvalidArgumentError(
        absl::StrCat("`done` with ", done.samples, " samples of a step of ",
                     step_->samples)));
  }
  StepOutcome outcome;
  outcome.pushing = step_->pushing();
  outcome.samples = done.samples;
  outcome.loss = done.loss_sum / done.samples;
  outcome.loading = ToDuration(done.load_ns);
  outcome.computing = ToDuration(done.compute_ns);
  if (outcome.pushing) {
    if (step_->ready_left > 0 || done.samples != step_->samples) {
      return Refuse(absl::InvalidArgumentError(absl::StrCat(
          "`done` after `ready` with ", done.samples, " of ", step_->samples,
          " samples, and ", step_->ready_left,
          " tensors that were never ready: from the first `ready` on a step "
          "is computed as a whole")));
    }
    // What is on its way the servers refuse, block by block.
    if (!finite) outcome.loss = std::numeric_limits<double>::quiet_NaN();
  } else if (!finite) {
    outcome.finite = false;
    outcome.samples = step_->samples;  // It uses up all of them.
  }
  return outcome;
}

void ProgramComputation::Drop() {
  if (!step_.has_value()) return;
  const int64_t iteration = step_->iteration;
  step_.reset();
  ordered_early_.reset();
  if (!broken().ok()) return;
  // Its answer is waited for before the next step: until then the coordinator
  // can go on. What goes wrong here is seen there.
  if (Send(IterationFrame(FrameKind::kAbandon, iteration)).ok()) {
    abandoned_ = iteration;
  }
  if (foretold_) SendReserved().IgnoreError();
}

absl::Status ProgramComputation::AwaitAbandoned() {
  while (abandoned_.has_value()) {
    // Nor as long as it sends something else.
    if (stopped_()) return absl::CancelledError("told to stop");
    PACELINE_ASSIGN_OR_RETURN(const ProgramFrame frame,
                              Receive({.stopped = stopped_}));
    if (frame.kind == FrameKind::kReady) continue;
    absl::StatusOr<int64_t> iteration = absl::UnknownError("");
    if (frame.kind == FrameKind::kAbandoned) {
      iteration = ParseAbandoned(frame.body);
    } else if (frame.kind == FrameKind::kDone) {
      iteration = IterationOf(ParseDone(frame.body));
    } else {
      return Unexpected(frame);
    }
    if (!iteration.ok()) return Refuse(iteration.status());
    if (*iteration == *abandoned_) abandoned_.reset();
  }
  return absl::OkStatus();
}

void ProgramComputation::DropReserved() {
  if (!lots_.has_value() || !lots_->Drop() || !broken().ok()) return;
  // What goes wrong is seen by the next step.
  Send(EmptyFrame(FrameKind::kDrop)).IgnoreError();
}

absl::StatusOr<v1::Evaluated> ProgramComputation::Evaluate(
    int64_t snapshot, uint32_t samples, absl::FunctionRef<bool()> go_on) {
  where_ = absl::StrCat("in the evaluation of snapshot ", snapshot);
  PACELINE_RETURN_IF_ERROR(Send(EvaluateFrame(snapshot, samples)));
  told_ = 0;
  PACELINE_RETURN_IF_ERROR(SendWeights(attach_.tensors.size()));
  PACELINE_ASSIGN_OR_RETURN(const ProgramFrame frame,
                            Receive({.stopped = [go_on] { return !go_on(); }}));
  if (frame.kind != FrameKind::kEvaluated) return Unexpected(frame);
  const auto measured = ParseEvaluated(frame.body);
  if (!measured.ok()) return Refuse(measured.status());
  if (measured->snapshot != snapshot) {
    return Refuse(absl::InvalidArgumentError(
        absl::StrCat("`evaluated` of snapshot ", measured->snapshot,
                     ", asked for was ", snapshot)));
  }
  v1::Evaluated evaluated;
  evaluated.set_snapshot(snapshot);
  for (const auto& [name, value] : measured->metrics) {
    (*evaluated.mutable_metrics())[name] = value;
    if (name == "accuracy") evaluated.set_accuracy(value);
    if (name == "loss") evaluated.set_loss(value);
  }
  return evaluated;
}

absl::Status ProgramComputation::Send(absl::string_view frame,
                                      absl::Span<const int> descriptors) {
  const absl::Status sent =
      life_.Send(frame, {.stopped = stopped_}, where_, descriptors);
  return sent.ok() || OfPatience(sent) ? sent : Lost(sent);
}

absl::StatusOr<ProgramFrame> ProgramComputation::Receive(
    const ProgramPatience& patience) {
  absl::StatusOr<ProgramFrame> frame = life_.Receive(patience, where_);
  if (frame.ok() || OfPatience(frame.status())) return frame;
  return Lost(frame.status());
}

absl::Status ProgramComputation::Lost(const absl::Status& status) {
  if (!broken().ok()) return broken();
  return Break(failures_.Ended(run_, status));
}

absl::Status ProgramComputation::Refuse(const absl::Status& wrong) {
  return Lost(life_.Refuse(Annotate(wrong, where_)));
}

absl::Status ProgramComputation::Unexpected(const ProgramFrame& frame) {
  return Refuse(absl::InvalidArgumentError(
      absl::StrCat("`", FrameName(frame.kind), "` out of order")));
}

}  // namespace paceline
