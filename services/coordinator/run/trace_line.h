#ifndef PACELINE_SERVICES_COORDINATOR_RUN_TRACE_LINE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_TRACE_LINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// An iteration as a line of a trace, for `paceline simulate --trace` to replay,
// without a line feed:
//   {"worker":"w0","iteration":7,"samples":32,"load":0.0001,"compute":0.0203,
//    "push":0.0011,"pull":0.0009,"parked":0.0,"wait":0.0004}
// Seconds, those of PhaseSeconds; `pull` is without what the servers parked.
// What was computed, and by what, a built-in model or a program, is not in it:
// who replays it needs the times alone. Thread-safe.
std::string TraceLine(absl::string_view worker, int64_t iteration,
                      uint32_t samples, const v1::PhaseSeconds& seconds);

// Whether a trace has an iteration: not one that pushed nothing
// (PushDone::discarded) or computed nothing, because it was ended before its
// first samples.
inline bool IsTraced(bool discarded, uint32_t samples) {
  return !discarded && samples > 0;
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_TRACE_LINE_H_
