#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_OPTIONS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/job/job_defaults.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/rate_schedule.h"
#include "services/coordinator/sync/core/sample_dealer.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

struct SyncOptions {
  uint32_t train_samples = 0;  // Per epoch; at least 1.
  uint32_t epochs = 1;         // At least 1.
  uint32_t batch_size = 32;    // Samples of a full grant, B; at least 1.
  // Of the job; 0: the whole batch. Workers that have samples reserved load
  // them in such pieces; they are granted whole ones, if it is less than B.
  uint32_t micro_batch = 0;
  int servers = 1;  // Parameter servers that answer fences.
  absl::Duration lease = kDefaultLease;
  RateSchedule schedule;
  // Updates have the explicit momentum that staleness leaves of this total
  // (ExplicitMomentum); nothing: that of the job's optimizer.
  std::optional<double> total_momentum = std::nullopt;
  // The rate of a closing is the schedule's times AdaScaleGain(), once the
  // noise is known (SyncCore::SetNoise()). Servers then take a round as one
  // batch.
  bool ada_scale = false;
  // Samples between two snapshots for evaluation; 0 takes only the last one.
  int64_t eval_every = 0;
  Batching batching = Batching::kEven;
  DataAssignment data_assignment = DataAssignment::kDynamic;
  // The planned switches, in the order of their samples.
  std::vector<ScheduledSwitch> switches = {};
  // Makes the policies that `switches` name; needed if there are any.
  std::function<std::unique_ptr<SyncPolicy>(const ParadigmSpec&)> make_policy =
      nullptr;
  // True: the driver calls ClosingPerformed(). False: a closing counts as
  // performed as soon as it is put out, and a server that is slow to perform
  // closings may have more rounds open than kMaxOpenRounds.
  bool closings_acknowledged = false;
  // The number of samples to count, which may be more than those of the epochs;
  // 0: those of the epochs.
  int64_t max_samples = 0;
  // The job goes on from here: the updates and the samples counted so far.
  // REQUIRES: CheckPosition() is OK of the samples.
  Version start_version = 0;
  SamplePosition start = {};
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_OPTIONS_H_
