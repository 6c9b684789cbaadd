#ifndef PACELINE_SERVICES_COORDINATOR_RUN_RUN_START_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_RUN_START_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/paceline/v1/types.pb.h"
#include "services/coordinator/policy/sample_dealer.h"
#include "services/coordinator/policy/types.h"

namespace paceline {

// Where a run begins: nowhere yet, or at a checkpoint.
struct RunStart {
  Version version = 0;
  SamplePosition position = {};
  double seconds = 0;                        // Of training so far.
  std::vector<v1::TensorSpec> tensors = {};  // Empty: nothing is prescribed.
};

// That of the checkpoint in the folder. The codes are those of ReadManifest()
// (common/checkpoint/manifest.h).
absl::StatusOr<RunStart> ReadRunStart(const std::string& directory);

v1::SamplePosition ToWire(const SamplePosition& position);
SamplePosition FromWire(const v1::SamplePosition& wire);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_RUN_START_H_
