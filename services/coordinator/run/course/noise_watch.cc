#include "services/coordinator/run/course/noise_watch.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

// Updates that are waited for; a server that was lost never answers.
constexpr size_t kMostUpdates = 16;
// The same of rounds.
constexpr size_t kMostRounds = 64;

}  // namespace

void NoiseWatch::Gathered::Add(const Gathered& other) {
  known = known && other.known && base.value_or(*other.base) == other.base;
  base = other.base;
  gradients.insert(gradients.end(), other.gradients.begin(),
                   other.gradients.end());
}

void NoiseWatch::Granted(const Grant& grant) {
  open_[grant.worker] = {grant.iteration, grant.base_version, grant.plan};
}

void NoiseWatch::Planned(const PlanCommand& plan) {
  const auto it = open_.find(plan.worker);
  if (it == open_.end() || it->second.iteration != plan.iteration) return;
  it->second.plan = plan.plan;
}

void NoiseWatch::Pushed(WorkerId worker, const PushReport& report) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.iteration != report.iteration ||
      report.discarded || it->second.plan.kind != PushPlan::Kind::kRound) {
    return;
  }
  const PushPlan& plan = it->second.plan;
  Gathered gradient{.base = it->second.base};
  gradient.known = report.gradient_square.has_value() && report.samples > 0 &&
                   plan.weight == 1 && plan.compensation == 0;
  gradient.gradients.push_back({static_cast<double>(report.samples),
                                report.gradient_square.value_or(0)});
  rounds_[plan.round].Add(gradient);
  if (rounds_.size() > kMostRounds) rounds_.erase(rounds_.begin());
}

void NoiseWatch::Closed(const CloseCommand& close) {
  Update update{.closing = close.closing};
  for (const RoundId round : close.rounds) {
    const auto gathered = rounds_.extract(round);
    if (!gathered.empty()) update.gathered.Add(gathered.mapped());
  }
  if (!update.gathered.known || update.gathered.gradients.size() < 2) return;
  updates_.push_back(std::move(update));
  if (updates_.size() > kMostUpdates) updates_.pop_front();
}

void NoiseWatch::Answered(size_t shards, int shard, Closing closing,
                          const ClosedGradient& mean) {
  const auto it = std::find_if(
      updates_.begin(), updates_.end(),
      [closing](const Update& update) { return update.closing == closing; });
  if (it == updates_.end() || !it->answered.insert(shard).second) return;
  if (mean.samples > 0) {
    it->fits = it->fits && (it->samples == 0 || it->samples == mean.samples);
    it->samples = mean.samples;
    it->mean_square += mean.square;
  }
  if (it->answered.size() < shards) return;
  Finish(*it);
  updates_.erase(it);
}

void NoiseWatch::Finish(const Update& update) {
  double samples = 0;
  for (const MeasuredGradient& gradient : update.gathered.gradients) {
    samples += gradient.samples;
  }
  // A push that a lost worker has not reported is among them.
  if (!update.fits || static_cast<double>(update.samples) != samples) return;
  const std::optional<GradientNoise> noise =
      EstimateNoise(update.gathered.gradients, update.mean_square);
  if (noise.has_value()) noise_.Add(samples, *noise);
}

}  // namespace paceline
