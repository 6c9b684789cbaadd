#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_RESOURCE_NAME_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_RESOURCE_NAME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rng.h"

namespace paceline {

// The names of the API's resources (AIP-122):
//
//   namespaces/NAMESPACE
//   namespaces/NAMESPACE/jobs/JOB
//   namespaces/NAMESPACE/jobs/JOB/checkpoints/CHECKPOINT
//   workers/WORKER
//   servers/SERVER
//
// NAMESPACE, JOB and CHECKPOINT are ids: 1 to 63 lower-case letters, digits
// and '-', beginning with a letter and ending with a letter or a digit. WORKER
// and SERVER are what the members call themselves: common/plain_name.h.
//
// All errors are INVALID_ARGUMENT with a BadRequest that names `field`.

inline constexpr absl::string_view kJobType = "paceline.v1.Job";
inline constexpr absl::string_view kCheckpointType = "paceline.v1.Checkpoint";
inline constexpr absl::string_view kWorkerType = "paceline.v1.Worker";
inline constexpr absl::string_view kServerType = "paceline.v1.Server";

struct JobName {
  std::string name_space;
  std::string job;

  std::string Format() const;
  friend bool operator==(const JobName&, const JobName&) = default;
};

struct CheckpointName {
  JobName job;
  std::string checkpoint;

  std::string Format() const;
  friend bool operator==(const CheckpointName&,
                         const CheckpointName&) = default;
};

// Whether `id` is one.
absl::Status CheckId(absl::string_view field, absl::string_view id);

// The NAMESPACE.
absl::StatusOr<std::string> ParseNamespaceName(absl::string_view field,
                                               absl::string_view name);
// Also takes "-", as in "namespaces/-", which stands for all.
absl::StatusOr<std::string> ParseNamespaceOrAll(absl::string_view field,
                                                absl::string_view name);
absl::StatusOr<JobName> ParseJobName(absl::string_view field,
                                     absl::string_view name);
absl::StatusOr<CheckpointName> ParseCheckpointName(absl::string_view field,
                                                   absl::string_view name);
// The WORKER.
absl::StatusOr<std::string> ParseWorkerName(absl::string_view field,
                                            absl::string_view name);

// The SERVER.
absl::StatusOr<std::string> ParseServerName(absl::string_view field,
                                            absl::string_view name);

std::string FormatWorkerName(absl::string_view worker);
std::string FormatServerName(absl::string_view server);

// An id that nobody chose: "PREFIX-" and ten letters and digits, drawn from
// 36^10.  REQUIRES: `prefix` is an id of at most 52 characters.
std::string DrawId(absl::string_view prefix, Rng& rng);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_RESOURCE_NAME_H_
