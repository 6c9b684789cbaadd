#include "common/status_details.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "protos/google/rpc/error_details.pb.h"

namespace paceline {
namespace {

using ::google::rpc::BadRequest;
using ::google::rpc::ErrorInfo;
using ::google::rpc::PreconditionFailure;
using ::google::rpc::QuotaFailure;
using ::google::rpc::ResourceInfo;
using ::google::rpc::RetryInfo;

// The trailers of a call hold 8 KiB, and in them the text stands twice, with
// its details once more and in base64.
constexpr size_t kViolationsMax = 50;
constexpr size_t kMessageMax = 2000;

template <typename Detail>
std::string TypeUrl() {
  return absl::StrCat("type.googleapis.com/",
                      Detail::descriptor()->full_name());
}

template <typename Detail>
void SetDetail(const Detail& detail, absl::Status& status) {
  status.SetPayload(TypeUrl<Detail>(), absl::Cord(detail.SerializeAsString()));
}

template <typename Detail>
std::optional<Detail> DetailOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload =
      status.GetPayload(TypeUrl<Detail>());
  Detail detail;
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return detail;
}

absl::Status WithResource(absl::Status status, absl::string_view reason,
                          absl::string_view type, absl::string_view name) {
  ResourceInfo info;
  info.set_resource_type(std::string(type));
  info.set_resource_name(std::string(name));
  info.set_description(std::string(status.message()));
  SetDetail(info, status);
  return WithReason(std::move(status), reason,
                    {{"resource", std::string(name)}});
}

// "paceline.v1.Job" -> "Job".
absl::string_view ShortType(absl::string_view type) {
  return type.substr(type.rfind('.') + 1);
}

}  // namespace

absl::Status WithReason(absl::Status status, absl::string_view reason,
                        const std::map<std::string, std::string>& metadata) {
  ErrorInfo info;
  info.set_reason(std::string(reason));
  info.set_domain(std::string(kErrorDomain));
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  SetDetail(info, status);
  return status;
}

absl::Status InvalidFields(const std::vector<FieldViolation>& violations) {
  if (violations.empty()) return absl::OkStatus();
  BadRequest request;
  std::string message;
  size_t named = 0;
  for (const auto& [field, description] : violations) {
    const size_t size = message.size() + field.size() + description.size();
    if (named == kViolationsMax || (named > 0 && size > kMessageMax)) break;
    BadRequest::FieldViolation& violation = *request.add_field_violations();
    violation.set_field(field);
    violation.set_description(description);
    absl::StrAppend(&message, named > 0 ? "; " : "", field,
                    field.empty() ? "" : ": ", description);
    ++named;
  }
  if (named < violations.size()) {
    absl::StrAppend(&message, "; and ", violations.size() - named, " more");
  }
  absl::Status status = absl::InvalidArgumentError(message);
  SetDetail(request, status);
  return WithReason(std::move(status), "INVALID_FIELD");
}

absl::Status InvalidField(absl::string_view field,
                          absl::string_view description) {
  return InvalidFields({{std::string(field), std::string(description)}});
}

absl::Status NotFound(absl::string_view type, absl::string_view name) {
  return WithResource(absl::NotFoundError(absl::StrCat(
                          ShortType(type), " \"", name,
                          "\" does not exist: check the name, or list which "
                          "there are")),
                      "RESOURCE_NOT_FOUND", type, name);
}

absl::Status AlreadyExists(absl::string_view type, absl::string_view name) {
  return WithResource(absl::AlreadyExistsError(absl::StrCat(
                          ShortType(type), " \"", name,
                          "\" exists already; choose another name")),
                      "RESOURCE_EXISTS", type, name);
}

absl::Status WrongState(absl::string_view resource,
                        absl::string_view description) {
  PreconditionFailure failure;
  PreconditionFailure::Violation& violation = *failure.add_violations();
  violation.set_type("STATE");
  violation.set_subject(std::string(resource));
  violation.set_description(std::string(description));
  absl::Status status = absl::FailedPreconditionError(
      absl::StrCat(resource, resource.empty() ? "" : ": ", description));
  SetDetail(failure, status);
  return WithReason(std::move(status), "WRONG_STATE",
                    {{"resource", std::string(resource)}});
}

absl::Status EtagMismatch(absl::string_view type, absl::string_view name) {
  return WithResource(
      absl::AbortedError(absl::StrCat(
          ShortType(type), " \"", name,
          "\" was changed since that etag; get it again and repeat")),
      "ETAG_MISMATCH", type, name);
}

absl::Status QuotaExceeded(absl::string_view subject,
                           absl::string_view description) {
  QuotaFailure failure;
  QuotaFailure::Violation& violation = *failure.add_violations();
  violation.set_subject(std::string(subject));
  violation.set_description(std::string(description));
  absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat(subject, ": ", description));
  SetDetail(failure, status);
  return WithReason(std::move(status), "QUOTA_EXCEEDED",
                    {{"subject", std::string(subject)}});
}

absl::Status RetryLater(absl::Status status, absl::Duration delay) {
  RetryInfo info;
  absl::Duration rest;
  info.mutable_retry_delay()->set_seconds(
      absl::IDivDuration(delay, absl::Seconds(1), &rest));
  info.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  SetDetail(info, status);
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = DetailOf<ErrorInfo>(status);
  return info.has_value() ? info->reason() : "";
}

std::vector<FieldViolation> ViolationsOf(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  const std::optional<BadRequest> request = DetailOf<BadRequest>(status);
  if (!request.has_value()) return violations;
  violations.reserve(request->field_violations_size());
  for (const BadRequest::FieldViolation& violation :
       request->field_violations()) {
    violations.push_back({violation.field(), violation.description()});
  }
  return violations;
}

std::optional<absl::Duration> RetryDelayOf(const absl::Status& status) {
  const std::optional<RetryInfo> info = DetailOf<RetryInfo>(status);
  if (!info.has_value()) return std::nullopt;
  return absl::Seconds(info->retry_delay().seconds()) +
         absl::Nanoseconds(info->retry_delay().nanos());
}

}  // namespace paceline
