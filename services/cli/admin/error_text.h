#ifndef PACELINE_SERVICES_CLI_ADMIN_ERROR_TEXT_H_
#define PACELINE_SERVICES_CLI_ADMIN_ERROR_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// An error for people, with all that its google.rpc details say:
//
//   paceline: job.yaml: refused (INVALID_ARGUMENT: INVALID_FIELD)
//     job.spec.batch_size: must be at least 1
//     job.spec.model: unknown model "lenet6"
//   paceline: job mnist: it has ended (FAILED_PRECONDITION: WRONG_STATE)
//   paceline: too many requests (RESOURCE_EXHAUSTED: RATE_LIMIT)
//     try again in 1.5s
//
// Code and reason are those that programs look at; an error that this program
// found itself may have neither. `subject` is what it is about; it may be
// empty. Pure.
std::string ErrorText(const absl::Status& status, absl::string_view subject);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_ERROR_TEXT_H_
