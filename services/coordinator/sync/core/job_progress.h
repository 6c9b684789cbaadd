#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_JOB_PROGRESS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_JOB_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "services/coordinator/sync/core/explicit_momentum.h"
#include "services/coordinator/sync/core/rate_schedule.h"
#include "services/coordinator/sync/core/round_ledger.h"
#include "services/coordinator/sync/core/sample_dealer.h"
#include "services/coordinator/sync/core/sync_messages.h"
#include "services/coordinator/sync/core/sync_options.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Where a job can be taken up again from what its servers hold at a snapshot.
struct ResumePoint {
  int64_t snapshot = 0;
  Version version = 0;
  // These samples are counted and in the weights. A push that is under way, or
  // lies in a round that is not closed, is not among them and will be repeated:
  // one per worker, and the immediate pushes that reach a server before it
  // takes the snapshot.
  int64_t samples = 0;
  SamplePosition position;
  bool exact = false;  // True if nothing was under way.
};

// How far a job is: its samples, updates and closings, the rate that belongs to
// them, and the snapshots that are due on the way. Thread-compatible.
class JobProgress {
 public:
  explicit JobProgress(const SyncOptions& options);

  SampleDealer& dealer() { return dealer_; }
  const SampleDealer& dealer() const { return dealer_; }
  Version version() const { return version_; }
  Closing closing() const { return closing_; }

  void SetSchedule(const RateSchedule& schedule) { schedule_ = schedule; }
  // The learning rate of an update that would be made now.
  double Rate() const {
    return schedule_.RateAt(dealer_.samples_counted(), version_);
  }

  // Of one batch's gradient, as AdaScaleGain() has it.
  void SetNoise(double noise) { noise_ = noise; }

  // A gradient was taken that was so stale.
  void CountStaleness(int64_t staleness) { staleness_.Add(staleness); }
  // The explicit momentum of an update that would be made now; nothing: that of
  // the optimizer.
  std::optional<double> Momentum() const;

  // A push was applied at once.
  void CountUpdate() { ++version_; }
  // Puts out the closing of these rounds, which have so many samples. It is one
  // update unless something else counts what it has.
  void Close(absl::Span<const RoundId> rounds, int64_t samples, bool updates,
             std::vector<Output>& outputs);
  // Puts out that the next closing will be that of this round, with so many
  // gradients, of so many samples that are counted and so many that are not.
  void Announce(RoundId round, int64_t gradients, int64_t counted,
                int64_t uncounted, std::vector<Output>& outputs);
  // Puts out a snapshot if the samples for one were counted since the last.
  void SnapshotIfDue(std::vector<Output>& outputs);
  void TakeLastSnapshot(std::vector<Output>& outputs);

  // Does what SyncCore::TakeResumePoint() promises.
  ResumePoint TakeResumePoint(const RoundLedger& rounds);

 private:
  void SetNextSnapshot();
  void Snapshot(bool last, std::vector<Output>& outputs);
  // What the rate of a round with so many samples is to be multiplied by.
  double Gain(int64_t samples, std::optional<double> noise) const;

  const int64_t eval_every_;
  const std::optional<double> total_momentum_;
  MeanStaleness staleness_;
  RateSchedule schedule_;
  SampleDealer dealer_;
  Version version_;
  Closing closing_ = 0;
  const bool ada_scale_;
  const double batch_size_;
  std::optional<double> noise_;
  // Servers may have made a part of the closing that was announced last, by
  // this noise.
  Closing announced_ = 0;
  std::optional<double> announced_noise_;
  int64_t snapshots_ = 0;
  int64_t next_snapshot_at_ = 0;  // A number of samples counted.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_JOB_PROGRESS_H_
