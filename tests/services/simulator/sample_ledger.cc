#include "tests/services/simulator/sample_ledger.h"

#include <algorithm>

namespace paceline {

SampleLedger::SampleLedger(const ClusterSpec& spec)
    : train_samples_(spec.train_samples),
      samples_(SamplesWanted(spec.settings.stop, spec.train_samples)) {}

void SampleLedger::Decided(Nanos /*at*/, const RunOutput& output) {
  if (const auto* grant = std::get_if<Grant>(&output)) {
    Move(grant->range, Sample::kFree, Sample::kOut);
    last_[grant->worker] = *grant;
  } else if (const auto* plan = std::get_if<PlanCommand>(&output)) {
    last_[plan->worker].plan = plan->plan;
  } else if (const auto* counted = std::get_if<PushCounted>(&output)) {
    Count(*counted);
  } else if (const auto* recorded = std::get_if<Recorded>(&output)) {
    const Decision& decision = recorded->decision;
    if (decision.kind == DecisionKind::kRangeReturned ||
        decision.kind == DecisionKind::kAbandoned) {
      Move(last_[decision.worker].range, Sample::kOut, Sample::kFree);
    }
  }
}

void SampleLedger::Count(const PushCounted& counted) {
  const Grant& grant = last_[counted.worker];
  SampleRange used = grant.range;
  used.end = used.begin + std::min(counted.samples, used.size());
  Move(used, Sample::kOut, Sample::kCounted);
  Move({used.epoch, used.end, grant.range.end}, Sample::kOut, Sample::kFree);
  if (grant.plan.kind == PushPlan::Kind::kDiscard) return;
  if (!counted_.insert({counted.worker, grant.iteration}).second) {
    violation_ = "a push is counted twice";
  }
}

void SampleLedger::PushTaken(Nanos /*at*/, const Grant& grant,
                             uint32_t /*samples*/) {
  const PushKey push = {grant.worker, grant.iteration};
  if (grant.plan.kind == PushPlan::Kind::kRound) {
    gathered_[grant.plan.round].push_back(push);
  } else if (!applied_.insert(push).second) {
    violation_ = "a push is applied twice";
  }
}

void SampleLedger::Closed(Nanos /*at*/, const CloseCommand& close) {
  for (const RoundId round : close.rounds) {
    for (const PushKey& push : gathered_[round]) {
      if (!applied_.insert(push).second) {
        violation_ = "a push is applied twice";
      }
    }
    gathered_.erase(round);
  }
}

std::string SampleLedger::Verdict() const {
  if (!violation_.empty()) return violation_;
  const auto counted =
      std::count(samples_.begin(), samples_.end(), Sample::kCounted);
  if (counted != static_cast<int64_t>(samples_.size())) {
    return "not every sample is counted";
  }
  if (!gathered_.empty()) return "a round is never closed";
  return applied_ == counted_ ? "" : "what is applied is not what is counted";
}

void SampleLedger::Move(const SampleRange& range, Sample from, Sample to) {
  for (uint32_t i = range.begin; i < range.end; ++i) {
    Sample& sample = samples_[size_t{range.epoch} * train_samples_ + i];
    if (sample != from) violation_ = "a sample is dealt or counted twice";
    sample = to;
  }
}

}  // namespace paceline
