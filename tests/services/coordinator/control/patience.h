#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_PATIENCE_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_PATIENCE_H_

#include "absl/time/time.h"

namespace paceline {

// Longer than anything may take: ends only what would hang.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_PATIENCE_H_
