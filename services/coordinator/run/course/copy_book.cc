#include "services/coordinator/run/course/copy_book.h"

namespace paceline {
namespace {

void Add(CopyBook::Pushes& to, int64_t pushes, int64_t samples) {
  to.pushes += pushes;
  to.samples += samples;
}

}  // namespace

void CopyBook::Granted(const Grant& grant) {
  Worker& worker = workers_[grant.worker];
  worker.base = applied_;
  worker.base_version = grant.base_version;
  worker.samples = grant.range.size();
  worker.plan = grant.plan;
}

void CopyBook::Planned(const PlanCommand& plan) {
  workers_[plan.worker].plan = plan.plan;
}

void CopyBook::Extended(const ExtendCommand& extend) {
  workers_[extend.worker].samples += extend.range.size();
}

void CopyBook::Counted(const PushCounted& push) {
  const auto found = workers_.find(push.worker);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  worker.copy = worker.base;
  worker.copy_version = worker.base_version;
  worker.samples = 0;
  if (worker.plan.kind == PushPlan::Kind::kRound) {
    Add(rounds_[worker.plan.round], 1, push.samples);
  } else if (worker.plan.kind == PushPlan::Kind::kImmediate) {
    Add(applied_, 1, push.samples);
  }
}

void CopyBook::Closed(absl::Span<const RoundId> rounds) {
  for (const RoundId round : rounds) {
    const auto found = rounds_.find(round);
    if (found == rounds_.end()) continue;
    Add(applied_, found->second.pushes, found->second.samples);
    rounds_.erase(found);
  }
}

void CopyBook::Has(WorkerId worker, Version base_version) {
  const auto found = workers_.find(worker);
  if (found == workers_.end() || found->second.samples == 0 ||
      found->second.base_version != base_version) {
    return;
  }
  found->second.copy = found->second.base;
  found->second.copy_version = base_version;
}

std::optional<WorkerId> CopyBook::Freshest() const {
  const Worker* best = nullptr;
  std::optional<WorkerId> freshest;
  for (const auto& [id, worker] : workers_) {
    if (!worker.copy.has_value()) continue;
    if (best != nullptr && worker.copy->pushes <= best->copy->pushes) continue;
    best = &worker;
    freshest = id;
  }
  return freshest;
}

Version CopyBook::VersionOf(WorkerId worker) const {
  return workers_.at(worker).copy_version;
}

CopyBook::Pushes CopyBook::OnTheWay() const {
  Pushes open;
  for (const auto& [id, worker] : workers_) {
    if (worker.samples > 0) Add(open, 1, worker.samples);
  }
  return open;
}

CopyBook::Pushes CopyBook::All() const {
  Pushes all = applied_;
  for (const auto& [round, gathered] : rounds_) {
    Add(all, gathered.pushes, gathered.samples);
  }
  const Pushes open = OnTheWay();
  Add(all, open.pushes, open.samples);
  return all;
}

CopyBook::Pushes CopyBook::MissingIn(WorkerId worker) const {
  const Pushes& copy = *workers_.at(worker).copy;
  Pushes missing = All();
  Add(missing, -copy.pushes, -copy.samples);
  return missing;
}

}  // namespace paceline
