#ifndef PACELINE_SERVICES_CLI_ADMIN_RESOURCE_NAME_H_
#define PACELINE_SERVICES_CLI_ADMIN_RESOURCE_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Names as people type them, and as the API has them. The errors are
// INVALID_ARGUMENT; whether the parts are well formed is the server's to say.

// "mnist" or "namespaces/team/jobs/mnist"; the former is of `space`, a
// namespace.
absl::StatusOr<std::string> JobName(absl::string_view space,
                                    absl::string_view typed);

// "c1" of a job (a full name), "JOB/c1" of `space`, or a full name. Without a
// job the second or third is needed.
absl::StatusOr<std::string> CheckpointName(absl::string_view space,
                                           absl::string_view job,
                                           absl::string_view typed);

// "w0" or "workers/w0".
absl::StatusOr<std::string> WorkerName(absl::string_view typed);
// "s0" or "servers/s0".
absl::StatusOr<std::string> ServerName(absl::string_view typed);

// "mnist" of "namespaces/team/jobs/mnist".
absl::string_view LastPart(absl::string_view name);

// "team" of "namespaces/team/jobs/mnist"; empty if there is none.
absl::string_view NamespaceOf(absl::string_view name);

// "mnist" of "namespaces/team/jobs/mnist/checkpoints/c1"; empty if none.
absl::string_view JobIdOf(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_RESOURCE_NAME_H_
