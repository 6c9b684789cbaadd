#ifndef PACELINE_COMMON_STANDSTILL_H_
#define PACELINE_COMMON_STANDSTILL_H_

#include "absl/time/time.h"
#include "common/clock.h"

namespace paceline {

// For how long this process did not run in a wait of at most `limit` that began
// at `began` of the machine's clock and is over: it was stopped, or the machine
// was. What others have said since lies unread, so that this is nobody's
// silence. Nothing, as long as a machine may just be busy.
inline absl::Duration StandstillIn(absl::Time began, absl::Duration limit) {
  constexpr absl::Duration kBusy = absl::Milliseconds(500);
  const absl::Duration late = Clock::Real().Now() - began - limit;
  return late > kBusy ? late : absl::ZeroDuration();
}

}  // namespace paceline

#endif  // PACELINE_COMMON_STANDSTILL_H_
