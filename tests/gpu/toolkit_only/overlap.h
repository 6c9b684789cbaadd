#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_OVERLAP_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_OVERLAP_H_

#include "absl/status/statusor.h"
#include "gpu/backend.h"

namespace paceline {

// Seconds of a training step of a model of 25 million parameters: with its
// gradients only brought to the host, and with them sent through a local socket
// as they are ready and weights received through it for every step, each tensor
// going up as it arrives.
struct OverlapTimes {
  double network_off = 0;
  double network_on = 0;
  double network_alone = 0;  // The same bytes both ways, nothing computed.
  double parameters = 0;
};

absl::StatusOr<OverlapTimes> MeasureOverlap(Backend& backend, int batch,
                                            int steps);

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_OVERLAP_H_
