#ifndef PACELINE_SERVICES_CLI_INPUT_CHECK_H_
#define PACELINE_SERVICES_CLI_INPUT_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace paceline {

// Loads the data that `data` names and makes the model `model` for it, as every
// worker will, so that a mistake is reported before any process is started.
// Keeps nothing. Returns the samples of one epoch.
//   NOT_FOUND: a file does not exist.
//   Otherwise what loading or making them found wrong, naming the flag.
absl::StatusOr<int64_t> CheckDataAndModel(const std::string& data,
                                          const std::string& model);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_INPUT_CHECK_H_
