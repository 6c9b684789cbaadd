#ifndef PACELINE_SERVICES_CLI_TERMINAL_H_
#define PACELINE_SERVICES_CLI_TERMINAL_H_

#include "absl/strings/string_view.h"
#include "services/cli/progress_printer.h"

namespace paceline {

// Writes all of `text` to a descriptor; false if that failed.
bool WriteAll(int fd, absl::string_view text);

// Progress on a descriptor: bars if it is a terminal that understands more than
// plain text. `term` and `no_color` are the values of TERM and NO_COLOR, null
// when they are not set (no-color.org: any non-empty value means no colour).
ProgressOutput ProgressTo(int fd, const char* term, const char* no_color);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_TERMINAL_H_
