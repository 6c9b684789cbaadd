#include "services/coordinator/sync/core/job_progress.h"

#include <algorithm>

#include "common/check.h"
#include "common/job/optimizer_spec.h"
#include "services/coordinator/sync/core/ada_scale.h"

namespace paceline {
namespace {

// As high as servers take one.
double Times(double rate, double gain) {
  return std::min(kRateMax, rate * gain);
}

}  // namespace

JobProgress::JobProgress(const SyncOptions& options)
    : eval_every_(options.eval_every),
      total_momentum_(options.total_momentum),
      schedule_(options.schedule),
      dealer_(options.train_samples, options.epochs, options.batch_size,
              options.data_assignment),
      version_(options.start_version),
      ada_scale_(options.ada_scale),
      batch_size_(options.batch_size) {
  CHECK(eval_every_ >= 0);
  if (options.max_samples > 0) dealer_.SetLimit(options.max_samples);
  dealer_.StartAt(options.start);
  if (eval_every_ > 0) SetNextSnapshot();
}

std::optional<double> JobProgress::Momentum() const {
  if (!total_momentum_.has_value()) return std::nullopt;
  return ExplicitMomentum(*total_momentum_, staleness_.value());
}

double JobProgress::Gain(int64_t samples, std::optional<double> noise) const {
  if (!ada_scale_ || !noise.has_value() || samples == 0) return 1;
  return AdaScaleGain(static_cast<double>(samples) / batch_size_, *noise);
}

void JobProgress::Close(absl::Span<const RoundId> rounds, int64_t samples,
                        bool updates, std::vector<Output>& outputs) {
  ++closing_;
  if (updates) ++version_;
  const double gain =
      Gain(samples, closing_ == announced_ ? announced_noise_ : noise_);
  outputs.push_back(CloseCommand{closing_,
                                 {rounds.begin(), rounds.end()},
                                 Times(Rate(), gain),
                                 Momentum(),
                                 updates});
  SnapshotIfDue(outputs);
}

void JobProgress::Announce(RoundId round, int64_t gradients, int64_t counted,
                           int64_t uncounted, std::vector<Output>& outputs) {
  announced_ = closing_ + 1;
  announced_noise_ = noise_;
  const double rate =
      schedule_.RateAt(dealer_.samples_counted() + uncounted, version_ + 1);
  outputs.push_back(
      AnnounceCommand{announced_, round, gradients,
                      Times(rate, Gain(counted + uncounted, noise_))});
}

void JobProgress::SnapshotIfDue(std::vector<Output>& outputs) {
  if (eval_every_ == 0) return;
  // The last snapshot is about to be taken of the same weights.
  if (dealer_.done()) return;
  if (dealer_.samples_counted() < next_snapshot_at_) return;
  SetNextSnapshot();
  Snapshot(/*last=*/false, outputs);
}

void JobProgress::TakeLastSnapshot(std::vector<Output>& outputs) {
  Snapshot(/*last=*/true, outputs);
}

ResumePoint JobProgress::TakeResumePoint(const RoundLedger& rounds) {
  const std::vector<SampleRange> gathered = rounds.Gathered();
  ResumePoint point{.snapshot = ++snapshots_,
                    .version = version_,
                    .samples = dealer_.samples_counted(),
                    .position = dealer_.Position(),
                    .exact = dealer_.outstanding() == 0 && gathered.empty()};
  for (const SampleRange& range : gathered) {
    point.samples -= range.size();
    point.position.open.push_back(range);
  }
  std::sort(point.position.open.begin(), point.position.open.end());
  return point;
}

void JobProgress::SetNextSnapshot() {
  const int64_t taken = dealer_.samples_counted() / eval_every_;
  next_snapshot_at_ = (taken + 1) * eval_every_;
}

void JobProgress::Snapshot(bool last, std::vector<Output>& outputs) {
  outputs.push_back(SnapshotCommand{++snapshots_, version_,
                                    dealer_.samples_counted(), closing_, last});
}

}  // namespace paceline
