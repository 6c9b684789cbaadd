#include "services/coordinator/run/job_sink.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/log/log.h"

namespace paceline {
namespace {

v1::PushPlan ToWire(const PushPlan& plan, double rate) {
  v1::PushPlan wire;
  switch (plan.kind) {
    case PushPlan::Kind::kImmediate:
      wire.set_immediate_rate(rate);
      break;
    case PushPlan::Kind::kRound:
      wire.set_round(ToNumber(plan.round));
      break;
    case PushPlan::Kind::kAsk:
      wire.set_ask(true);
      break;
    case PushPlan::Kind::kDiscard:
      wire.set_discard(true);
      break;
  }
  wire.set_weight(static_cast<float>(plan.weight));
  wire.set_compensation(static_cast<float>(plan.compensation));
  return wire;
}

}  // namespace

void JobSink::Perform(const Output& output) {
  std::visit([this](const auto& what) { Do(what); }, output);
}

void JobSink::CallDone() {
  // At the end nobody is released.
  if (!finished()) {
    for (const WorkerId worker : not_released_) {
      // The last push of somebody who is lost holds nobody.
      if (const auto member = to_.roster->Find(worker)) {
        to_.record->Held(member->name);
      }
    }
  }
  not_released_.clear();
}

void JobSink::Do(const Grant& grant) {
  not_released_.erase(grant.worker);
  v1::WorkerCommand command;
  v1::Grant& wire = *command.mutable_grant();
  wire.set_iteration(grant.iteration);
  wire.mutable_range()->set_epoch(grant.range.epoch);
  wire.mutable_range()->set_begin(grant.range.begin);
  wire.mutable_range()->set_end(grant.range.end);
  wire.set_closing(grant.closing);
  wire.set_base_version(grant.base_version);
  wire.set_micro_batch(grant.micro_batch);
  *wire.mutable_plan() = ToWire(grant.plan, grant.rate);
  to_.roster->Send(grant.worker, std::move(command));
  to_.record->Granted(to_.roster->NameOf(grant.worker));
  to_.metrics->grants->Increment();
  to_.metrics->samples_granted->Increment(grant.range.size());
}

void JobSink::Do(const PlanCommand& plan) {
  v1::WorkerCommand command;
  command.mutable_plan_push()->set_iteration(plan.iteration);
  *command.mutable_plan_push()->mutable_plan() = ToWire(plan.plan, plan.rate);
  to_.roster->Send(plan.worker, std::move(command));
}

void JobSink::Do(const RefreshCommand& refresh) {
  v1::WorkerCommand command;
  command.mutable_refresh()->set_iteration(refresh.iteration);
  to_.roster->Send(refresh.worker, std::move(command));
}

void JobSink::Do(const AbandonCommand& abandon) {
  v1::WorkerCommand command;
  command.mutable_abandon()->set_iteration(abandon.iteration);
  to_.roster->Send(abandon.worker, std::move(command));
}

void JobSink::Do(const CloseCommand& close) {
  v1::ServerCommand command;
  command.mutable_close()->set_closing(close.closing);
  command.mutable_close()->set_rate(close.rate);
  for (const RoundId round : close.rounds) {
    command.mutable_close()->add_rounds(ToNumber(round));
  }
  to_.servers->Broadcast(std::move(command));
  to_.metrics->closings->Increment();
  const absl::Time now = to_.clock->Now();
  if (last_close_.has_value()) {
    to_.metrics->round_seconds->Observe(
        absl::ToDoubleSeconds(now - *last_close_));
  }
  last_close_ = now;
}

void JobSink::Do(const FenceCommand& fence) {
  v1::ServerCommand command;
  command.mutable_fence()->set_incarnation(
      to_.roster->IncarnationOf(fence.worker));
  // Held over the broadcast: an answer must find its entry.
  absl::MutexLock lock(&mu_);
  fences_[to_.servers->Broadcast(std::move(command))] = fence.worker;
}

void JobSink::Do(const SnapshotCommand& snapshot) {
  if (!to_.evaluate || !to_.evaluations->Admit(snapshot.last)) return;
  v1::ServerCommand command;
  command.mutable_snapshot()->set_snapshot(snapshot.snapshot);
  AccuracyPoint stamp;
  stamp.seconds = to_.record->SecondsAt(to_.clock->Now());
  stamp.version = snapshot.version;
  stamp.version_at_completion = snapshot.version;
  stamp.samples = snapshot.samples;
  {
    // Held until the task is there: a refusal must find it.
    absl::MutexLock lock(&mu_);
    snapshots_[to_.servers->Broadcast(std::move(command))] = snapshot.snapshot;
    to_.evaluations->Add(snapshot.snapshot, snapshot.last, stamp);
  }
  to_.metrics->snapshots->Increment();
}

void JobSink::Do(const Evicted& evicted) {
  to_.record->Lost(to_.roster->NameOf(evicted.worker));
  to_.metrics->workers_lost.at(evicted.reason)->Increment();
  if (evicted.reason == LossReason::kDeparted) {
    to_.roster->Close(evicted.worker, absl::OkStatus());
    // Its connection may serve another run next, and says no more here.
    to_.roster->Gone(evicted.worker);
  } else {
    to_.roster->Close(evicted.worker,
                      absl::AbortedError(absl::StrCat(
                          "this incarnation was declared lost (",
                          Render(evicted.reason), "): register anew")));
  }
}

void JobSink::Do(const PushCounted& counted) {
  not_released_.insert(counted.worker);
  to_.record->Counted(to_.roster->NameOf(counted.worker), counted,
                      to_.clock->Now());
  to_.metrics->pushes->Increment();
  to_.metrics->version->Set(static_cast<double>(counted.version));
  to_.metrics->samples_counted->Increment(counted.samples);
  to_.metrics->gap->Observe(static_cast<double>(counted.gap));
  to_.metrics->staleness->Observe(static_cast<double>(counted.staleness));
  to_.metrics->last_push_timestamp_seconds->Set(
      absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
}

void JobSink::Do(const Recorded& recorded) {
  // Decisions about the job as a whole name no worker.
  const Decision& decision = recorded.decision;
  to_.metrics->decisions.at(decision.kind)->Increment();
  const std::string worker = decision.worker == WorkerId{0}
                                 ? "job"
                                 : to_.roster->NameOf(decision.worker);
  to_.record->Decided(worker, decision);
  const auto kept = filter_.Offer(decision.kind, recorded.at);
  if (!kept.has_value()) return;
  Tell(recorded.at, worker, kept->category, Render(decision), kept->omitted);
}

void JobSink::Do(const Switched& switched) {
  to_.record->Switched(switched);
  to_.observer->ParadigmSwitched(switched.to);
  to_.metrics->Switched(switched.from, switched.to);
  Tell(switched.at, "job", "switch",
       absl::StrCat("switched from ", switched.from, " to ", switched.to, " (",
                    switched.reason, ") at version ", switched.version, ", ",
                    switched.samples, " samples"),
       0);
}

void JobSink::Tell(absl::Time at, const std::string& worker, const char* kind,
                   const std::string& text, int64_t omitted) {
  LogInfo(text, {{"worker", worker}, {"decision", kind}});
  v1::Decision told;
  told.set_seconds(to_.record->SecondsAt(at));
  told.set_worker(worker);
  told.set_kind(kind);
  told.set_text(text);
  told.set_omitted(omitted);
  to_.observer->Decided(told);
}

void JobSink::Do(const SwitchSettled& settled) { to_.record->Settled(settled); }

void JobSink::Do(const Finished&) {
  absl::MutexLock lock(&mu_);
  finished_ = true;
}

std::optional<WorkerId> JobSink::FencedBy(uint64_t sequence) const {
  absl::MutexLock lock(&mu_);
  const auto it = fences_.find(sequence);
  if (it == fences_.end()) return std::nullopt;
  return it->second;
}

std::optional<int64_t> JobSink::SnapshotOf(uint64_t sequence) const {
  absl::MutexLock lock(&mu_);
  const auto it = snapshots_.find(sequence);
  if (it == snapshots_.end()) return std::nullopt;
  return it->second;
}

bool JobSink::finished() const {
  absl::MutexLock lock(&mu_);
  return finished_;
}

bool JobSink::AwaitFinished(absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithTimeout(absl::Condition(&finished_), timeout);
}

}  // namespace paceline
