#ifndef PACELINE_SERVICES_CLI_JOB_ARGUMENTS_H_
#define PACELINE_SERVICES_CLI_JOB_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// Adds the values of --argument, "depth=18", to the spec's arguments, in the
// place of those that it has. What is behind the first '=' is the text, be it
// empty. INVALID_ARGUMENT, naming the flag, for one without a '=', for a key
// that is no plain name, and for one that is given twice. Pure.
absl::Status AddArguments(const std::vector<std::string>& values,
                          v1::JobSpec& spec);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_JOB_ARGUMENTS_H_
