#ifndef PACELINE_SERVICES_COORDINATOR_RUN_PHASE_TIMES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_PHASE_TIMES_H_

#include <algorithm>

#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// Whether one iteration may have taken these: a peer may say anything, and one
// NaN would spoil whatever is summed up. None is below 0 or more than a day.
inline bool AreTimes(const v1::PhaseSeconds& seconds) {
  const double all[] = {seconds.load(), seconds.compute(), seconds.push(),
                        seconds.wait(), seconds.pull(),    seconds.parked()};
  return std::ranges::all_of(
      all, [](double time) { return time >= 0 && time <= 86'400; });
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_PHASE_TIMES_H_
