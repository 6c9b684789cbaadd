#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_OUTPUT_TEXT_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_OUTPUT_TEXT_H_

#include <string>

#include "services/coordinator/sync/core/sync_messages.h"

namespace paceline {

// One line without its end, such as
//   grant w0 #1 0:[0, 32) for round 1, closing 0, base 0
//   close 1: round 1 at 0.1
//   push w0: 32 samples, gap 1, staleness 0, version 1
std::string ToText(const Output& output);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_OUTPUT_TEXT_H_
