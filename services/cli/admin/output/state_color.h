#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_STATE_COLOR_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_STATE_COLOR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// The text with the first state of each line in its colour, for a terminal that
// has colours: FAILED red, RUNNING green, PAUSED yellow. A state is a word of
// its own. `after` is what follows the end of the colour, to take up another
// one. Pure.
std::string PaintStates(absl::string_view text, absl::string_view after = "");

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_STATE_COLOR_H_
