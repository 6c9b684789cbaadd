#ifndef PACELINE_COMMON_STATUS_DETAILS_H_
#define PACELINE_COMMON_STATUS_DETAILS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// Errors with details (AIP-193): messages of google.rpc, serialized as the
// payloads of an absl::Status under "type.googleapis.com/google.rpc.NAME". The
// gRPC adaptors carry them to the caller. All functions are thread-safe.

// The domain of every ErrorInfo.
inline constexpr absl::string_view kErrorDomain = "paceline";

// Gives `status` an ErrorInfo; one that it had is replaced. `reason` is
// constant and UPPER_SNAKE_CASE. An OK status stays as it is.
absl::Status WithReason(
    absl::Status status, absl::string_view reason,
    const std::map<std::string, std::string>& metadata = {});

// A field of a request that is wrong, as "job.spec.batch_size", and what would
// be right. An empty `field` is the request as a whole.
struct FieldViolation {
  std::string field;
  std::string description;

  friend bool operator==(const FieldViolation&,
                         const FieldViolation&) = default;
};

// INVALID_ARGUMENT, reason INVALID_FIELD, BadRequest. The message reads
// "job.spec.batch_size: must be at least 1; job_id: ...". Of more
// than 50 violations, or 2000 bytes, the first are named and the others
// counted: an answer's trailers hold no more. OK if there are
// none, so that a check can end with it.
absl::Status InvalidFields(const std::vector<FieldViolation>& violations);

// InvalidFields of one.
absl::Status InvalidField(absl::string_view field,
                          absl::string_view description);

// NOT_FOUND, reason RESOURCE_NOT_FOUND, ResourceInfo. `type` is as
// "paceline.v1.Job".
absl::Status NotFound(absl::string_view type, absl::string_view name);

// ALREADY_EXISTS, reason RESOURCE_EXISTS, ResourceInfo.
absl::Status AlreadyExists(absl::string_view type, absl::string_view name);

// FAILED_PRECONDITION, reason WRONG_STATE, PreconditionFailure of type STATE.
// `description` says which state it is in and what would be right.
absl::Status WrongState(absl::string_view resource,
                        absl::string_view description);

// As WrongState, but for its reason: another checkpoint of the job is being
// written. Who asks again once that one has ended is not refused for it.
inline constexpr absl::string_view kCheckpointBeingWritten =
    "CHECKPOINT_BEING_WRITTEN";

// ABORTED, reason ETAG_MISMATCH, ResourceInfo: somebody else changed `name`.
absl::Status EtagMismatch(absl::string_view type, absl::string_view name);

// RESOURCE_EXHAUSTED, reason QUOTA_EXCEEDED, QuotaFailure. `subject` is as
// "namespace:default".
absl::Status QuotaExceeded(absl::string_view subject,
                           absl::string_view description);

// Adds a RetryInfo: come again after `delay`, which is finite and not negative.
// An OK status stays as it is.
absl::Status RetryLater(absl::Status status, absl::Duration delay);

// What a status says, its own or one that came over the wire. Payloads that
// cannot be read count as absent.

// The ErrorInfo's reason, or "" if there is none.
std::string ReasonOf(const absl::Status& status);

// The BadRequest's violations.
std::vector<FieldViolation> ViolationsOf(const absl::Status& status);

// The RetryInfo's delay.
std::optional<absl::Duration> RetryDelayOf(const absl::Status& status);

}  // namespace paceline

#endif  // PACELINE_COMMON_STATUS_DETAILS_H_
