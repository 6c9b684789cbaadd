#ifndef PACELINE_SERVICES_CLI_SWITCH_FLAG_H_
#define PACELINE_SERVICES_CLI_SWITCH_FLAG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paceline {

// A paradigm that takes over after a share of the samples.
struct SwitchAt {
  double share = 0;  // In [0, 1).
  std::string paradigm;
};

// The values of --switch-at, "30%=asp", sorted by share. INVALID_ARGUMENT,
// naming the flag, for another form, a share outside [0, 100) and a paradigm
// that does not exist.
absl::StatusOr<std::vector<SwitchAt>> ParseSwitches(
    const std::vector<std::string>& values);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SWITCH_FLAG_H_
