#include "services/worker/pace/pace.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {

Pace::Pace(const PaceSpec& spec, int batch, uint64_t seed)
    : spec_(spec), batch_(batch), rng_(seed) {
  CHECK(batch > 0);
}

void Pace::Begin(absl::Time start) {
  if (!origin_.has_value()) origin_ = start;
  start_ = start;
  delay_ = spec_.delay.has_value() ? SampleDelay(*spec_.delay, rng_)
                                   : absl::ZeroDuration();
}

absl::Time Pace::Until(absl::Duration compute, int samples,
                       int costly_micro_batches) const {
  CHECK(origin_.has_value() && samples >= 0 && costly_micro_batches >= 0);
  const absl::Duration unhurried =
      spec_.step_time.has_value()
          ? *spec_.step_time * samples / batch_ +
                *spec_.step_time * spec_.micro_batch_cost * costly_micro_batches
          : compute;
  const absl::Duration busy =
      std::max(compute, unhurried * spec_.slowdown) + delay_;
  return SkipPauses(busy);
}

absl::Time Pace::SkipPauses(absl::Duration busy) const {
  if (!spec_.pause.has_value()) return start_ + busy;
  const PauseSpec& pause = *spec_.pause;
  // Device time is what has passed since the origin, less the pauses. Pause k
  // lies before the device time first + k * (every - length).
  const absl::Duration step = pause.every - pause.length;
  const absl::Duration since = start_ - *origin_ - pause.first;
  absl::Duration device = start_ - *origin_;
  if (since >= absl::ZeroDuration()) {
    absl::Duration into;  // The current period.
    const int64_t periods = absl::IDivDuration(since, pause.every, &into);
    device = pause.first + step * periods +
             std::max(absl::ZeroDuration(), into - pause.length);
  }
  device += busy;
  int64_t pauses = 0;
  if (device >= pause.first) {
    absl::Duration rest;
    pauses = absl::IDivDuration(device - pause.first, step, &rest) + 1;
    // What ends exactly where a pause begins does not wait for its end.
    if (rest == absl::ZeroDuration()) --pauses;
  }
  return std::max(start_ + busy, *origin_ + device + pause.length * pauses);
}

}  // namespace paceline
