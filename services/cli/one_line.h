#ifndef PACELINE_SERVICES_CLI_ONE_LINE_H_
#define PACELINE_SERVICES_CLI_ONE_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// UTF-8 text with a blank for every control character, those above ASCII (C1)
// included: what others wrote can neither break a line nor move the cursor.
std::string OneLine(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ONE_LINE_H_
